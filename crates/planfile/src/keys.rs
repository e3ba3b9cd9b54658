//! Every key that a plan file may have: the one list behind the documentation, the reader and its suggestions.

/// A table of a plan file that holds keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// The file itself.
    File,
    /// `[limiter.NAME]`: one shared resource.
    Limiter,
    /// `[plan.NAME]`.
    Plan,
    /// `backfill = {…}` of a plan.
    Backfill,
    /// `failover = {…}` of a plan.
    Failover,
    /// `leader = {…}` of a plan.
    Leader,
    /// `hedge = {…}` of a plan: the copies of every branch that states none of its own.
    Hedge,
    /// `[plan.NAME.defaults]`: what holds for every branch that does not state it.
    Defaults,
    /// `[plan.NAME.each]`: many like branches.
    Each,
    /// `[plan.NAME.branch]` with `BRANCH = {…}`, or `[plan.NAME.branch.BRANCH]`.
    Branch,
    /// `hedge = {…}` of a branch or of `each`.
    BranchHedge,
    /// `[scenario]`: the world that simulated jobs meet.
    Scenario,
    /// `arrivals = {…}` of the scenario.
    Arrivals,
    /// `shares = {…}` of the scenario.
    Shares,
    /// `[scenario.server.NAME]`: what serves branches.
    Server,
    /// `slow = {…}` of a server.
    Slow,
    /// `[scenario.client.NAME]`: a client that knows no plan.
    Client,
}

impl Scope {
    /// How the table is written in a file.
    pub fn place(self) -> &'static str {
        match self {
            Scope::File => "the file",
            Scope::Limiter => "[limiter.NAME]",
            Scope::Plan => "[plan.NAME]",
            Scope::Backfill => "the plan's `backfill`",
            Scope::Failover => "the plan's `failover`",
            Scope::Leader => "the plan's `leader`",
            Scope::Hedge => "the plan's `hedge`",
            Scope::Defaults => "[plan.NAME.defaults]",
            Scope::Each => "[plan.NAME.each]",
            Scope::Branch => "[plan.NAME.branch.BRANCH]",
            Scope::BranchHedge => "the `hedge` of a branch",
            Scope::Scenario => "[scenario]",
            Scope::Arrivals => "`arrivals` of the scenario",
            Scope::Shares => "`shares` of the scenario",
            Scope::Server => "[scenario.server.NAME]",
            Scope::Slow => "`slow` of a server",
            Scope::Client => "[scenario.client.NAME]",
        }
    }

    /// The keys that the table may have.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> {
        KEYS.iter().filter(move |key| key.scopes.contains(&self))
    }
}

/// One key of a plan file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The tables that may hold it.
    pub scopes: &'static [Scope],
    /// Its name.
    pub name: &'static str,
    /// What values it takes.
    pub value: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Lines of TOML that state it, with what it can't be without.
    pub example: &'static str,
}

macro_rules! keys {
    ($([$($scope:ident)+] $name:literal = $value:literal, or $default:literal: $meaning:literal, as $example:literal;)+) => {
        /// Every key of a plan file.
        ///
        /// | in | key | value | default | meaning |
        /// |---|---|---|---|---|
        $(#[doc = concat!("| ", $("[`", stringify!($scope), "`](Scope::", stringify!($scope), ") ",)+
            "| `", $name, "` | ", $value, " | ", $default, " | ", $meaning, " |")])+
        pub const KEYS: &[Key] = &[$(Key {
            scopes: &[$(Scope::$scope),+],
            name: $name,
            value: $value,
            default: $default,
            meaning: $meaning,
            example: $example,
        }),+];
    };
}

keys! {
    [File] "limiter" = "tables by name", or "none":
        "shared resources that branches of any plan may name", as "limiter.llm.gate = 10";
    [File] "plan" = "tables by name", or "at least one is needed":
        "the plans", as "plan.a.branch.b = {}";
    [File] "scenario" = "table", or "none: jobs one at a time, and each call takes its `latency`":
        "the world that jobs meet when they are simulated", as "scenario.arrivals = \"10/s\"";

    [Limiter] "gate" = "1 or more", or "no bound":
        "the weight that may run at once", as "gate = 10";
    [Limiter] "rate" = "`\"300/min\"`: permits in a time", or "no bound":
        "the weight that may start in a time; needs `burst`", as "rate = \"300/min\"\nburst = 5";
    [Limiter] "burst" = "1 or more", or "none; goes with `rate`":
        "the weight that may start at once after an idle time, on top of the rate", as "rate = \"5/s\"\nburst = 5";
    [Limiter] "pushback_cap" = "duration", or "`\"60s\"`":
        "the longest pause that a server may ask for; beyond it waiters are refused", as "pushback_cap = \"30s\"";
    [Limiter] "strict" = "`true` or `false`", or "`false`":
        "whether in every window of the rate's time no more than its permits start; takes a `burst` below them",
        as "strict = true\nrate = \"300/min\"\nburst = 5";
    [Limiter] "backfill_share" = "share like `\"10%\"`", or "`\"0%\"`: backfill waits for all others":
        "the least share of what is permitted that backfill gets while it waits", as "backfill_share = \"10%\"";

    [Plan] "route" = "`\"POST /path/{parameter}\"`", or "none: the plan is not served":
        "which requests start a job", as "route = \"GET /a\"\ndefaults.url = \"http://127.0.0.1:9001/\"";
    [Plan] "wait_for" = "`\"all\"`, a number k of branches, or a share like `\"95%\"`", or "`\"all\"`":
        "the barrier: when a job stops waiting", as "wait_for = 1";
    [Plan] "at_least" = "0 to k", or "k; for `\"all\"` the number of required branches":
        "the fewest answers that a result may hold", as "at_least = 1";
    [Plan] "deadline" = "duration", or "none":
        "when a job gives up, counted from its start", as "deadline = \"2.5s\"";
    [Plan] "backfill" = "`true`, `false` or a table", or "`false`":
        "whether missing optional branches of partial results are filled in later",
        as "backfill = true\ndefaults.optional = true";
    [Plan] "hedge" = "`false` or a table", or "`false`":
        "copies for every branch that states no `hedge` of its own",
        as "hedge = { after = \"1s\" }\ndefaults.repeatable = true";
    [Plan] "failover" = "`true`, `false` or a table", or "`false`":
        "whether a branch whose attempts have failed is sent once more, to another of its `targets`; for every branch \
         that does not say so itself",
        as "failover = true\ndefaults.targets = [\"http://127.0.0.1:9001/\", \"http://127.0.0.1:9002/\"]\n\
            defaults.repeatable = true";
    [Plan] "leader" = "table", or "none":
        "the branch that goes first, to prime what the others share; they start when it has answered or its head start is over",
        as "leader = { branch = \"b\", head_start = \"1s\" }";
    [Plan] "observe" = "share like `\"1%\"`", or "`\"0%\"`":
        "the share of jobs in which primaries that are not needed run on to their `deadline` to be measured: what a live \
         percentile needs where a job ends at its first answers",
        as "observe = \"1%\"\ndeadline = \"10s\"";
    [Plan] "holdout" = "share like `\"1%\"`", or "`\"0%\"`":
        "the share of jobs that start no copies, to measure what copies buy",
        as "holdout = \"1%\"\nhedge = { after = \"1s\" }\ndefaults.repeatable = true";
    [Plan] "defaults" = "table", or "none":
        "what holds for every branch that does not state it", as "defaults = {}";
    [Plan] "branch" = "tables by name", or "none":
        "the branches, in the order that breaks ties; the name is the key of the answer", as "branch.c = {}";
    [Plan] "each" = "table", or "none":
        "many like branches", as "each = { count = 2, name = \"x-{i}\" }";

    [Backfill] "enqueue_timeout" = "duration", or "`\"100ms\"`":
        "how long storing the job may hold up a result beyond the deadline", as "enqueue_timeout = \"50ms\"";
    [Backfill] "ttl" = "duration", or "`\"24h\"`":
        "how long a document is kept", as "ttl = \"1h\"";
    [Backfill] "max_bytes" = "1 or more", or "1048576":
        "the largest document that is kept, request and answers together", as "max_bytes = 65536";
    [Backfill] "tries" = "1 or more", or "8":
        "how often a branch is tried before it is given up", as "tries = 3";

    [Leader] "branch" = "name of a branch", or "needed": "the one that goes first", as "branch = \"b\"";
    [Leader] "head_start" = "duration", or "needed":
        "how long the others wait for it, counted from its permit", as "head_start = \"1s\"";

    [Hedge BranchHedge] "after" = "`\"p95\"`, a duration, or a list of them", or "needed unless `race` is there":
        "how long the primary may run, from its permit, before each copy is due; a percentile is that of `latency`",
        as "after = \"1s\"";
    [Hedge BranchHedge] "race" = "2 to 16", or "none":
        "instead of `after`: attempts that start at once, the primary among them", as "race = 2";
    [Hedge BranchHedge] "warming" = "duration", or "none":
        "the delay in place of a percentile that is not known: while it is not measured and no `latency` is stated",
        as "after = \"p95\"\nwarming = \"1.5s\"";
    [Hedge BranchHedge] "floor" = "duration", or "none":
        "the least that a percentile may be as a delay", as "after = \"p95\"\nwarming = \"1s\"\nfloor = \"5ms\"";
    [Hedge BranchHedge] "cap" = "duration", or "the deadline less `min_useful`":
        "the most that a percentile may be as a delay", as "after = \"p95\"\nwarming = \"1s\"\ncap = \"2s\"";
    [Hedge BranchHedge] "min_useful" = "duration", or "the median of `latency`, or 0s without one":
        "a copy with less time left than this is not sent", as "after = \"1s\"\nmin_useful = \"200ms\"";
    [Hedge BranchHedge] "distinct" = "`true` or `false`", or "`false`":
        "whether a copy needs a target of its own", as "race = 2\ndistinct = true";
    [Hedge] "extra" = "share like `\"5%\"`", or "`\"5%\"`":
        "the budget: what each answered primary of the plan earns, as a share of a copy",
        as "after = \"1s\"\nextra = \"2%\"";
    [Hedge] "burst" = "1 or more", or "20":
        "the most copies that the budget saves up", as "after = \"1s\"\nburst = 5";
    [Hedge] "in_flight" = "1 or more", or "no bound":
        "the most copies of the plan that may run at once", as "after = \"1s\"\nin_flight = 10";

    [Failover] "extra" = "share like `\"10%\"`", or "`\"10%\"`":
        "the budget: what each answered primary of the plan earns, as a share of a failover", as "extra = \"5%\"";
    [Failover] "burst" = "1 or more", or "20": "the most failovers that the budget saves up", as "burst = 5";
    [Failover] "in_flight" = "1 or more", or "no bound":
        "the most failovers of the plan that may run at once", as "in_flight = 10";

    [Each] "count" = "1 to 1000000", or "needed": "how many branches there are", as "count = 1";
    [Each] "name" = "text with `{i}`", or "needed": "their names; `{i}` is 0, 1, … up to `count` less one", as "name = \"b-{i}\"";

    [Defaults Each Branch] "url" = "`\"http://host/{branch}\"`", or "none; needed, or `targets`, with a `route`":
        "the target. `{branch}` is the branch's name, `{i}` its number in `each`, `{query}` the request's query, \
         and `{parameter}` one of the route's path", as "url = \"http://127.0.0.1:9001/{branch}?{query}\"";
    [Defaults Each Branch] "targets" = "list of such URLs", or "none":
        "instead of `url`: targets that serve the branch alike; a copy goes to one that was not tried yet",
        as "targets = [\"http://127.0.0.1:9001/\", \"http://127.0.0.1:9002/\"]";
    [Defaults Each Branch] "latency" = "law, like `\"lognormal:median=1s,sigma=0.6\"`", or "none; needed to predict":
        "the latency of one attempt, until it is measured", as "latency = \"p50=0.8s,p95=1.5s,p99=2.4s\"";
    [Defaults Each Branch] "optional" = "`true` or `false`", or "`false` for `wait_for = \"all\"`, else `true`":
        "whether a result may lack the branch", as "optional = true";
    [Defaults Each Branch] "deadline" = "duration", or "the plan's":
        "when the branch must have answered, counted from the job's start", as "deadline = \"1s\"";
    [Defaults Each Branch] "attempt_timeout" = "duration", or "none":
        "how long one attempt may run, counted from its permit", as "attempt_timeout = \"1s\"";
    [Defaults Each Branch] "repeatable" = "`true` or `false`", or "`true` for a GET or HEAD route, else `false`":
        "whether the request may be sent twice, as copies are", as "repeatable = true";
    [Defaults Each Branch] "limiter" = "name of a limiter", or "none":
        "what permits its attempts", as "limiter = \"llm\"";
    [Defaults Each Branch] "weight" = "1 or more", or "1":
        "what one attempt takes of the limiter", as "limiter = \"llm\"\nweight = 2";
    [Defaults Each Branch] "cost" = "number, 0 or more", or "not stated":
        "what one call costs, in your unit of money", as "cost = 0.004";
    [Defaults Each Branch] "failover" = "`true` or `false`", or "the plan's":
        "whether it is sent once more, to another target, when its attempts have failed",
        as "failover = true\nrepeatable = true\ntargets = [\"http://127.0.0.1:9001/\", \"http://127.0.0.1:9002/\"]";
    [Each Branch] "after" = "list of branches, `each` by its `name` as written", or "none":
        "the branches that must have answered before it starts; their answers go with its request", as "after = [\"a\"]";
    [Each Branch] "tolerates_missing" = "`true` or `false`", or "`false`":
        "whether it starts without those that can no longer answer", as "after = [\"a\"]\ntolerates_missing = true";
    [Each Branch] "hedge" = "`false` or a table", or "the plan's":
        "its copies", as "hedge = { after = \"1s\" }\nrepeatable = true";

    [Scenario] "arrivals" = "rate like `\"10/s\"`, at random, or a table", or "each job when the one before has returned":
        "when jobs start", as "arrivals = { every = \"100ms\" }";
    [Scenario] "shares" = "table", or "none: calls have nothing in common":
        "how much of their latencies calls have in common", as "shares = { job = \"20%\" }";
    [Scenario] "size_sigma" = "number, above 0", or "none: jobs are of one size":
        "sigma of the log-normal factor, with median 1, that multiplies all latencies of a job", as "size_sigma = 0.5";
    [Scenario] "warm_up" = "0 or more", or "2000 to 200000, as it takes":
        "jobs that are played before each 10,000 that count, where jobs matter to each other", as "warm_up = 500";
    [Scenario] "server" = "tables by name", or "none": "what serves the branches", as "server.s.slots = 4";
    [Scenario] "client" = "tables by name", or "none":
        "clients that know no plan, to compare plans with", as "client.c.calls = \"one by one\"";

    [Arrivals] "every" = "duration", or "none": "the distance of jobs", as "every = \"100ms\"";
    [Arrivals] "clients" = "1 or more", or "none":
        "how many clients start jobs, each its next one when it has thought about the last", as "clients = 10";
    [Arrivals] "think" = "duration", or "`\"0s\"`": "how long clients think, on average", as "clients = 10\nthink = \"2s\"";
    [Arrivals] "trace" = "list of instants", or "none": "when jobs start, over and over", as "trace = [\"0s\", \"1.2s\"]";

    [Shares] "job" = "share like `\"20%\"`", or "`\"0%\"`": "what all calls of a job share of the variance of luck", as "job = \"20%\"";
    [Shares] "branch" = "share like `\"20%\"`", or "`\"0%\"`":
        "what the attempts of a branch share of it: at 100% a copy takes as long as its primary", as "branch = \"100%\"";

    [Server] "branches" = "list of names", or "all that no other server names": "the branches that it serves", as "branches = [\"b\"]";
    [Server] "replicas" = "1 to 100000", or "1": "replicas, each with a queue of its own", as "replicas = 3";
    [Server] "slots" = "1 or more", or "no bound: no call waits":
        "calls that a replica serves at once, first come, first served", as "slots = 4";
    [Server] "choice" = "`\"random\"`, `\"least loaded\"` or `\"in turn\"`", or "`\"random\"`":
        "which replica a call goes to", as "choice = \"in turn\"";
    [Server] "errors" = "share like `\"1%\"`", or "`\"0%\"`": "calls that fail, and may succeed in another try", as "errors = \"1%\"";
    [Server] "permanent_errors" = "share like `\"1%\"`", or "`\"0%\"`": "calls that fail for good", as "permanent_errors = \"1%\"";
    [Server] "error_latency" = "law, as in `latency`", or "that of an answer": "how long a call takes that fails",
        as "error_latency = \"exponential:mean=0.1s\"\nerrors = \"1%\"";
    [Server] "rate" = "`\"300/min\"`: calls in a time", or "no bound":
        "the calls that it takes, by a token bucket; others are turned away with 429", as "rate = \"80/s\"\nburst = 9";
    [Server] "burst" = "1 or more", or "none; goes with `rate`": "the calls that it takes at once after an idle time",
        as "burst = 9\nrate = \"80/s\"";
    [Server] "window" = "`\"300/min\"`: calls in a time", or "no bound":
        "the calls that it takes in each window of that time; others are turned away with 429", as "window = \"300/min\"";
    [Server] "rejects_after" = "duration", or "`\"0s\"`": "how long it takes to turn a call away",
        as "rejects_after = \"200ms\"\nwindow = \"300/min\"";
    [Server] "retry_after" = "duration, or `\"exact\"`: until it could take a call", or "none: it does not say":
        "when it says that a call may come back", as "retry_after = \"exact\"\nwindow = \"300/min\"";
    [Server] "slow" = "table", or "none": "when it is slow", as "slow = { lasts = \"1s\", every = \"1min\" }";
    [Server] "prefill" = "duration", or "`\"0s\"`: calls share no prompt":
        "how much longer a call takes while no call of its job has read the prompt that they share", as "prefill = \"800ms\"";
    [Server] "cancellation" = "`\"at once\"`, `\"never\"`, or a duration", or "`\"at once\"`":
        "when it stops working for a call that nobody waits for", as "cancellation = \"50ms\"";

    [Slow] "factor" = "number, from 1", or "it stands still": "how many times longer calls take", as "factor = 5\nlasts = \"1s\"";
    [Slow] "lasts" = "duration", or "needed": "how long it is slow", as "lasts = \"1s\"";
    [Slow] "every" = "duration", or "once only": "from one such time to the next", as "every = \"1min\"\nlasts = \"1s\"";
    [Slow] "from" = "duration", or "`\"0s\"`": "when the first one begins", as "from = \"10s\"\nlasts = \"1s\"";
    [Slow] "replicas" = "1 or more", or "all": "how many replicas are slow, each at another time", as "replicas = 1\nlasts = \"1s\"";

    [Client] "plan" = "name of a plan", or "the only one": "whose calls it makes", as "plan = \"x\"";
    [Client] "calls" = "`\"at once\"` or `\"one by one\"`", or "`\"at once\"`": "whether it makes them together", as "calls = \"one by one\"";
    [Client] "latency" = "law, as in `latency` of a branch", or "those of the plan's branches":
        "the latency of one call as this client meets it", as "latency = \"exponential:mean=1s\"";
    [Client] "retries" = "0 to 1000", or "0": "how often it tries a call again that failed or was turned away", as "retries = 3";
    [Client] "backoff" = "duration", or "`\"1s\"`":
        "how long it waits before the first of these unless the server says; then twice as long, and so on", as "backoff = \"2s\"\nretries = 3";
}

/// Keys that are planned but not there yet, each with the table that will hold it.
pub(crate) const NOT_YET: &[(Scope, &str)] = &[(Scope::Each, "for_each")];

/// Words that people try, with what to write: too far from the right key for a suggestion by spelling.
pub(crate) const INSTEAD: &[(&str, &str)] = &[
    ("required", "write `optional = false`"),
    ("timeout", "write `deadline`, counted from the job's start, or a branch's `attempt_timeout`"),
    ("branches", "write [plan.NAME.branch]"),
];

/// The first table other than `scope` that may hold `name`.
pub(crate) fn elsewhere(scope: Scope, name: &str) -> Option<Scope> {
    let key = KEYS.iter().find(|key| key.name == name && !key.scopes.contains(&scope))?;
    key.scopes.first().copied()
}
