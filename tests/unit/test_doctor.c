/* What phasectl doctor makes of the settings of a Slurm, and of a machine. */
#include "tests/unit/unit.h"

#include "cli/doctor/finding.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/nodelist.h"
#include "cli/doctor/settings.h"
#include "cli/field.h"
#include "cli/terminal.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdlib.h>

/* Checks the findings: lines "SEVERITY WHAT: SEEN", without those that are ok. */
static void expect(json_t *findings, const char *expected)
{
    const json_t *finding;
    size_t i;
    struct text text = {0};
    json_array_foreach(findings, i, finding)
    {
        if (!text_equal(field_text(finding, "severity"), "ok"))
            text_addf(&text, "%s %s: %s\n", field_text(finding, "severity"),
                      field_text(finding, "what"), field_text(finding, "seen"));
    }
    assert_string_equal(text_string(&text), expected);
    text_fini(&text);
    json_decref(findings);
}

/* --- Settings --------------------------------------------------------------------------------- */

static void each_setting_is_judged_by_its_value(void **state)
{
    (void)state;
    static const struct {
        const char *config, *expected;
    } rows[] = {
        {"MinJobAge               = 300 sec", ""},
        {"MinJobAge               = 0 sec", ""},
        {"MinJobAge               = 10 sec",
         "warning MinJobAge: Slurm forgets a job 10 s after its end\n"},
        {"KillWait                = 30 sec", ""},
        {"KillWait                = 2 sec",
         "note KillWait: at its time limit a job has 2 s between TERM and KILL\n"},
        {"BatchStartTimeout       = 10 sec", ""},
        {"BatchStartTimeout       = 3 sec",
         "note BatchStartTimeout: a job whose Prolog takes more than 3 s is started again\n"},
        {"MaxBatchRequeue         = 5", ""},
        {"MaxBatchRequeue         = 1",
         "note MaxBatchRequeue: Slurm holds a job after it was requeued 1 times\n"},
        {"JobRequeue              = 1", ""},
        {"JobRequeue              = 0",
         "note JobRequeue: jobs are not requeued unless they ask for "
         "it, as the jobs of phased do\n"},
        {"AuthInfo                = socket=/run/munge/socket", ""},
        {"AuthInfo                = socket=/run/munge/socket,cred_expire=30",
         "warning AuthInfo: credentials expire after 30 s (cred_expire)\n"},
        {"AuthInfo                = cred_expire=600",
         "note AuthInfo: a job that Slurm requeues waits 601 s (cred_expire)\n"},
        {"JobSubmitPlugins        = (null)", ""},
        {"JobSubmitPlugins        = lua",
         "note JobSubmitPlugins: the site may change or refuse submissions: lua\n"},
        {"CliFilterPlugins        = lua",
         "note CliFilterPlugins: sbatch changes submissions (lua), "
         "but phased does not use sbatch\n"},
        {"SlurmctldParameters     = enable_configless,rl_enable",
         "note SlurmctldParameters: requests of a user are limited (rl_enable)\n"},
        {"AccountingStorageType   = accounting_storage/none", ""},
        {"AccountingStorageEnforce = none", ""},
        {"AccountingStorageEnforce = associations,limits",
         "note AccountingStorageEnforce: accounts and limits are enforced: associations,limits\n"},
        {"PreemptType             = preempt/qos",
         "note PreemptType: jobs are preempted by their QOS\n"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *findings = json_array();
        char *config = text_format("Configuration data\n%s\nZzz = 1\n", rows[i].config);
        setting_judge(config, findings);
        expect(findings, rows[i].expected);
        free(config);
    }
}

static void a_value_is_that_of_the_whole_key(void **state)
{
    (void)state;
    char value[32];
    const char config[] = "PreemptModeX = A\nPreemptMode             = GANG,SUSPEND\nEnd = (null)";
    setting_value(config, "PreemptMode", value, sizeof value);
    assert_string_equal(value, "GANG,SUSPEND");
    setting_value(config, "Preempt", value, sizeof value);
    assert_string_equal(value, "");
    setting_value(config, "End", value, sizeof value);
    assert_string_equal(value, "");
}

static void a_controller_must_not_be_older_than_phased(void **state)
{
    (void)state;
    static const struct {
        const char *built, *controller, *expected;
    } rows[] = {
        {"24.11.5", "24.11.0", ""},
        {"22.05.8", "24.11.5",
         "warning release: phased uses the module for Slurm 22.05.8, the controller is 24.11.5\n"},
        {"24.11.5", "24.05.1",
         "error release: phased uses the module for Slurm 24.11.5, and the controller is older: "
         "24.05.1\n"},
        {"24.11.5", "",
         "note release: cannot compare the Slurm of phased (24.11.5) with the controller's ()\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *findings = json_array();
        setting_judge_version(rows[i].built, rows[i].controller, findings);
        expect(findings, rows[i].expected);
    }
}

/* --- Partitions ------------------------------------------------------------------------------- */

static const char nodes[] = "low|gpu:h100:8|1/1/0/2\nlow|(null)|0/1/1/2\nhigh|gpu:h200:4|0/0/2/2\n";

/* Judges the partition `low`, with a partition `high` above it. */
static json_t *judge_low_on(const char *nodelist, const char *type, const char *mode,
                            unsigned grace_s)
{
    struct setting_partition *list;
    json_t *findings = json_array();
    char *config = text_format("PreemptType = %s\n", type);
    char *text =
        text_format("PartitionName=low\n   Default=YES GraceTime=%u\n   MaxTime=1-00:00:00\n"
                    "   PriorityJobFactor=1 PriorityTier=1\n   PreemptMode=%s\n"
                    "   Nodes=n[1-4]\n   State=UP TotalNodes=2\n\n"
                    "PartitionName=high\n   GraceTime=0 MaxTime=UNLIMITED\n"
                    "   PriorityTier=9 PreemptMode=OFF\n   Nodes=%s\n   State=UP\n",
                    grace_s, mode, nodelist);
    assert_int_equal(setting_read_partitions(text, nodes, &list), 2);
    assert_string_equal(list[0].name, "low");
    assert_string_equal(list[0].gpus, "2 x gpu:h100:8");
    assert_string_equal(list[0].max_time, "1-00:00:00");
    assert_int_equal(list[0].nodes, 4);
    setting_judge_partition(config, list, 2, 0, findings);
    setting_free_partitions(list, 2);
    free(text);
    free(config);
    return findings;
}

static json_t *judge_low(const char *type, const char *mode, unsigned grace_s)
{
    return judge_low_on("n[3-6]", type, mode, grace_s);
}

static void a_partition_below_another_is_judged_by_its_preemption(void **state)
{
    (void)state;
    static const char prio[] = "preempt/partition_prio";
    expect(judge_low(prio, "OFF", 0), "");
    expect(judge_low("preempt/none", "REQUEUE", 0), "");
    expect(judge_low(prio, "REQUEUE", 60),
           "note low: jobs are preempted for partition high, 60 s after a warning (GraceTime)\n");
    expect(judge_low(prio, "REQUEUE", 0), "warning low: jobs are preempted for partition high "
                                          "without a warning (GraceTime is 0)\n");
    expect(judge_low(prio, "CANCEL", 60),
           "note low: jobs are preempted for partition high, 60 s after a warning (GraceTime)\n"
           "note low: jobs that are preempted are cancelled (PreemptMode)\n");
    expect(judge_low(prio, "GANG,SUSPEND", 60),
           "warning low: jobs are suspended for partition high (PreemptMode)\n");
    expect(judge_low_on("g[1-4],n[5-9]", prio, "REQUEUE", 0), ""); /* no node is in both */
}

static void two_lists_share_a_node_by_its_number(void **state)
{
    (void)state;
    static const struct {
        const char *left, *right;
        bool may_share;
    } rows[] = {
        {"n[1-4]", "n[4-8]", true},
        {"n[1-4]", "n[5-8]", false},
        {"n[1-4,9]", "n9", true},
        {"n[1-4,9]", "n8", false},
        {"a[1-4],b7", "c[1-9],b[6-8]", true},
        {"a[1-4],b7", "a[5-9],b[1-6]", false},
        {"login,n1", "login", true},
        {"login", "gateway", false},
        {"n[01-16]", "n[16-20]", true},
        {"n[1-4]", "nn[1-4]", false},
        {"", "n1", false},
        {"r[1-2]n[1-8]", "x1", true}, /* not compared */
        {"n[1-4", "x1", true},
        {"n[a]", "x1", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(nodelist_may_share(rows[i].left, rows[i].right), rows[i].may_share);
        assert_int_equal(nodelist_may_share(rows[i].right, rows[i].left), rows[i].may_share);
    }
}

static void a_partition_without_usable_nodes_is_named(void **state)
{
    (void)state;
    struct setting_partition *list;
    json_t *findings = json_array();
    size_t count = setting_read_partitions("PartitionName=high\n   State=UP\n\n"
                                           "PartitionName=old\n   State=INACTIVE\n",
                                           nodes, &list);
    assert_int_equal(count, 2);
    setting_judge_partition("", list, count, 0, findings);
    setting_judge_partition("", list, count, 1, findings);
    setting_free_partitions(list, count);
    expect(findings, "warning high: no node can be used: 2 of 2 are down, drained or reserved\n"
                     "note old: the partition is not up\n");
}

static void all_partitions_of_a_large_site_are_read(void **state)
{
    (void)state;
    enum { PARTITIONS = 200 };
    struct setting_partition *list;
    struct text text = {0};
    for (unsigned i = 0; i < PARTITIONS; i++)
        text_addf(&text, "PartitionName=p%u\n   State=UP\n\n", i);
    assert_int_equal(setting_read_partitions(text_string(&text), nodes, &list), PARTITIONS);
    assert_string_equal(list[PARTITIONS - 1].name, "p199");
    setting_free_partitions(list, PARTITIONS);
    text_fini(&text);
}

static void a_partition_that_was_not_tried_may_take_jobs(void **state)
{
    (void)state;
    static const struct {
        struct setting_trials trials;
        const char *expected;
    } rows[] = {
        {{.tried = 2, .taken = 1}, ""},
        {{.tried = 2}, "error submit: no partition takes your jobs\n"},
        {{.tried = 2, .silent = 1}, ""},
        {{.tried = 2, .left_out = 1},
         "note partitions: 1 partition was not tried: the trials before took too long\n"},
        {{.tried = 2, .taken = 2, .left_out = 7},
         "note partitions: 7 partitions were not tried: the trials before took too long\n"},
        {{.silent = 1}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *findings = json_array();
        setting_judge_trials(&rows[i].trials, findings);
        expect(findings, rows[i].expected);
    }
}

/* --- The machine ------------------------------------------------------------------------------ */

static void space_is_judged_before_it_runs_out(void **state)
{
    (void)state;
    static const struct {
        struct machine_space space;
        const char *expected;
    } rows[] = {
        {{.free_bytes = 1ULL << 40}, ""},
        {{.free_bytes = 1ULL << 32}, "warning space: 4.0 GiB free in the home\n"},
        {{.free_bytes = 1ULL << 27}, "error space: 128.0 MiB free in the home\n"},
        {{.free_bytes = 1ULL << 40, .files = 1 << 20, .free_files = 1 << 19}, ""},
        {{.free_bytes = 1ULL << 40, .files = 1 << 20, .free_files = 9000},
         "warning inodes: 9000 more files fit into the file system of the home\n"},
        {{.free_bytes = 1ULL << 40, .files = 1 << 20, .free_files = 3},
         "error inodes: 3 more files fit into the file system of the home\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *findings = json_array();
        machine_judge_space(&rows[i].space, findings);
        expect(findings, rows[i].expected);
    }
}

static void a_home_of_this_machine_alone_is_a_warning(void **state)
{
    (void)state;
    json_t *findings = json_array();
    machine_judge_system(0xEF53, "home", "/h", true, findings);
    machine_judge_system(0xEF53, "home", "/h", false, findings);
    machine_judge_system(0x47504653, "home", "/g", false, findings);
    machine_judge_system(0x6969, "home", "/n", false, findings);
    machine_judge_system(0x1234, "home", "/x", false, findings);
    expect(findings,
           "warning home: /h is on ext4, a file system that only this machine has, unless it is "
           "exported\n"
           "note home: /n is on NFS; only a job can tell whether nodes see it: `srun ls -d /n`\n"
           "note home: /x is on a file system of unknown type 0x1234\n");
}

static void a_logout_ends_phased_without_linger_only(void **state)
{
    (void)state;
    json_t *findings = json_array();
    machine_judge_logout(false, false, findings);
    machine_judge_logout(true, true, findings);
    machine_judge_logout(true, false, findings);
    machine_judge_descriptors(1024, findings);
    machine_judge_descriptors(1 << 20, findings);
    machine_judge_proc("proc /proc proc rw,nosuid,hidepid=invisible 0 0\n", findings);
    machine_judge_proc("proc /proc proc rw,nosuid 0 0\nproc /x proc hidepid=2 0 0\n", findings);
    expect(findings,
           "warning logout: phased ends when you log out (KillUserProcesses of systemd)\n"
           "warning descriptors: a process may open 1024 files\n"
           "note proc: /proc shows only your own processes (hidepid): phased needs no others\n");
}

static void people_see_what_to_do_below_what_was_seen(void **state)
{
    (void)state;
    const struct terminal terminal = {.fd = -1};
    struct text text = {0};
    json_t *findings = json_array();
    finding_add(findings, FINDING_OK, "home", NULL, "fine");
    finding_add(findings, FINDING_ERROR, "daemon", "start it", "%s", "gone\033[2J");
    finding_write(findings, &terminal, &text);
    assert_string_equal(text_string(&text), "ok     home    fine\n"
                                            "error  daemon  gone^[[2J\n"
                                            "               -> start it\n"
                                            "1 error, 0 warnings\n");
    text_fini(&text);
    json_decref(findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_is_judged_by_its_value),
        cmocka_unit_test(a_value_is_that_of_the_whole_key),
        cmocka_unit_test(a_controller_must_not_be_older_than_phased),
        cmocka_unit_test(a_partition_below_another_is_judged_by_its_preemption),
        cmocka_unit_test(two_lists_share_a_node_by_its_number),
        cmocka_unit_test(a_partition_without_usable_nodes_is_named),
        cmocka_unit_test(all_partitions_of_a_large_site_are_read),
        cmocka_unit_test(a_partition_that_was_not_tried_may_take_jobs),
        cmocka_unit_test(space_is_judged_before_it_runs_out),
        cmocka_unit_test(a_home_of_this_machine_alone_is_a_warning),
        cmocka_unit_test(a_logout_ends_phased_without_linger_only),
        cmocka_unit_test(people_see_what_to_do_below_what_was_seen),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
