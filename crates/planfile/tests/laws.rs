//! The text of laws.

use fantail_model::{Law, Level};
use fantail_planfile::parse_law;

#[test]
fn every_family_is_read_with_its_parameters_in_any_order() {
    let check = |text: &str, law: Law| assert_eq!(parse_law(text).unwrap(), law.into(), "{text}");
    check("exponential:mean=250ms", Law::exponential(0.25).unwrap());
    check("lognormal:median=1s,sigma=0.6", Law::log_normal(1.0, 0.6).unwrap());
    check("lognormal: sigma = 0.6 , median = 1000ms", Law::log_normal(1.0, 0.6).unwrap());
    check("weibull:shape=0.7,scale=1s", Law::weibull(0.7, 1.0).unwrap());
    check("gamma:shape=2,scale=500ms", Law::gamma(2.0, 0.5).unwrap());
    check("loglogistic:alpha=2s,beta=3", Law::log_logistic(2.0, 3.0).unwrap());
    check("pareto:xm=1s,alpha=2.5", Law::pareto(1.0, 2.5).unwrap());
    check("exponential:shift=20ms,mean=1s", Law::exponential(1.0).unwrap().shifted(0.02).unwrap());
}

#[test]
fn mixtures_are_read_with_exact_weights() {
    let parts = [(0.95, Law::log_normal(0.8, 0.3).unwrap()), (0.05, Law::pareto(2.0, 2.5).unwrap())];
    let law = Law::mixture(&parts).unwrap();
    assert_eq!(
        parse_law("0.95*lognormal:median=0.8s,sigma=0.3|0.05*pareto:xm=2s,alpha=2.5").unwrap().law,
        law
    );
    assert_eq!(
        parse_law(" 0.95 * lognormal:median=0.8s,sigma=0.3 | 5e-2 * pareto:xm=2s,alpha=2.5").unwrap().law,
        law
    );
}

#[test]
fn what_a_law_prints_is_read_as_the_same_law() {
    for text in [
        "exponential:mean=0.25s",
        "lognormal:median=1s,sigma=0.6,shift=0.02s",
        "weibull:shape=0.7,scale=1s",
        "gamma:shape=2,scale=0.5s",
        "loglogistic:alpha=2s,beta=3",
        "pareto:xm=1s,alpha=2.5",
        "0.95*lognormal:median=1s,sigma=0.3|0.05*pareto:xm=2s,alpha=2.5",
    ] {
        let law = parse_law(text).unwrap().law;
        assert_eq!(law.to_string(), text);
    }
}

#[test]
fn percentiles_give_a_law_through_them() {
    let stated = parse_law("p50=0.8s,p95=1.5s,p99=2.4s").unwrap();
    let law = stated.law;
    assert!(stated.fit_error.is_some_and(|error| error < 1e-6), "{:?}", stated.fit_error);
    for (s, time) in [(0.5, 0.8), (0.05, 1.5), (0.01, 2.4)] {
        let got = law.quantile(Level::above(s).unwrap());
        assert!((got / time - 1.0).abs() < 1e-6, "{s}: {got} instead of {time}");
    }
}

#[test]
fn every_fault_of_a_law_is_told_at_its_column() {
    let check = |text: &str, expected: &[(usize, &str)]| {
        let problems = parse_law(text).unwrap_err();
        let got: Vec<(usize, &str)> = problems.iter().map(|p| (p.column(), p.message())).collect();
        assert_eq!(got, expected, "{text}");
    };
    let families = "expected `exponential`, `lognormal`, `weibull`, `gamma`, `loglogistic` or `pareto` or percentiles like p50=1s,p99=2s";
    check("", &[(1, &format!("unknown law ``; {families}"))]);
    check(
        "lognorml:median=1s,sigma=1",
        &[(1, &format!("unknown law `lognorml`; {families}; did you mean `lognormal`?"))],
    );
    check(
        "lognormal",
        &[
            (1, "lognormal has no median; expected one, like median=1s"),
            (1, "lognormal has no sigma; expected one, like sigma=0.6"),
        ],
    );
    check(
        "lognormal:medain=1,sigma=x,sigma=2,9",
        &[
            (1, "lognormal has no median; expected one, like median=1s"),
            (
                11,
                "lognormal has no parameter `medain`; expected `median`, `sigma` or `shift`; did you mean `median`?",
            ),
            (26, "sigma: `x` is not a number"),
            (28, "sigma twice"),
            (36, "`9` is not a parameter; expected name=value"),
        ],
    );
    check("lognormal:median=1,sigma=1", &[(18, "median: `1` has no unit: write 1s or 1ms")]);
    check("lognormal:median=1s,sigma=-1", &[(27, "sigma: got -1, expected 1e-9 to 30")]);
    check("lognormal:median=0s,sigma=nan", &[(18, "median: got 0, expected 1e-15 to 1e15 seconds")]);
    check(
        "median=1s",
        &[(1, "`median=1s` is not a law; expected a family and a colon first, like lognormal:")],
    );
    check(
        "0.9*exponential:mean=1s|0.2*exponential:mean=2s",
        &[(1, "the weights add up to more than 1; expected exactly 1")],
    );
    check(
        "0.9*exponential:mean=1s|0.05*exponential:mean=2s",
        &[(1, "the weights add up to 95%; expected exactly 100%")],
    );
    check(
        "x*exponential:mean=1|exponential:mean=2s",
        &[
            (1, "`x` is not a weight; expected a number from 0 to 1"),
            (20, "mean: `1` has no unit: write 1s or 1ms"),
            (22, "`exponential:mean=2s` has no weight; expected one, like 0.05*pareto:xm=2s,alpha=2.5"),
        ],
    );
    check("p50=1s,p95", &[(8, "`p95` is not a percentile with its time; expected one like p95=1.5s")]);
    check("p50=1s", &[(1, "percentiles: got 1, expected 2 to 64 of them")]);
    check("p50=2s,p95=1.5s", &[(1, "percentiles must increase: p50 is 2 s but p95 is 1.5 s")]);
    check(
        "p50=1,p950=2s",
        &[
            (5, "`1` has no unit: write 1s or 1ms"),
            (7, "`p950` is not a percentile; expected one between 0 and 1, like p99, 0.99 or 1-1e-6"),
        ],
    );
}
