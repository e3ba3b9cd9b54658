//! The files of scripts, each with the test that plays it.

/// Calls the macro with all of them.
macro_rules! for_all_files {
    ($of:ident) => {
        $of! {
            rule_1_every_branch_ends_with_one_outcome: "rule_01_slots.txt";
            rule_2_the_barrier_gives_the_verdict: "rule_02_barrier.txt";
            rule_3_one_instant_has_an_order: "rule_03_instant.txt";
            rule_4_the_cause_is_the_root: "rule_04_causes.txt";
            rule_5_a_branch_is_won_by_its_first_answer: "rule_05_branch.txt";
            rule_6_permits_are_asked_for: "rule_06_permits.txt";
            rule_7_the_budget_caps_copies: "rule_07_budget.txt";
            rule_8_hedge_delays_follow_the_latency: "rule_08_live.txt";
            rule_8_some_jobs_are_samples: "rule_08_samples.txt";
            rule_9_limiters_are_shared: "rule_09_limiter.txt";
            rule_11_one_branch_may_lead: "rule_11_leader.txt";
            rule_12_stages_have_an_order: "rule_12_stages.txt";
            rule_13_losers_are_dropped_first: "rule_13_losers.txt";
            rule_14_one_deadline_flows_down: "rule_14_deadline.txt";
            rule_16_the_ledger_sums: "rule_16_ledger.txt";
            cases_from_public_reports: "cases.txt";
        }
    };
}
