/* Measures silences, and computes the allowed silence. */
#include "worker/health/hang.h"

#include "worker/protocol/assignment.h"

void hang_init(struct hang *hang, int setting_s, int64_t now_ms)
{
    *hang = (struct hang){.setting_s = setting_s, .looked_ms = now_ms};
}

void hang_look(struct hang *hang, enum hang_sign sign, int64_t now_ms)
{
    int64_t passed_ms = now_ms - hang->looked_ms;
    hang->looked_ms = now_ms;
    hang->silence_ms += passed_ms < HANG_GAP_MS ? passed_ms : HANG_GAP_MS;
    if (sign == HANG_NOTHING)
        return;
    bool is_first_step = sign == HANG_STEP && !hang->has_step;
    if (is_first_step)
        hang->longest_ms = 0;
    else if (hang->silence_ms > hang->longest_ms && sign != HANG_EXCUSED)
        hang->longest_ms = hang->silence_ms;
    if (sign == HANG_STEP && !is_first_step && hang->intervals < HANG_STEPS)
        hang->intervals++;
    hang->has_step |= is_first_step;
    hang->silence_ms = 0;
}

int64_t hang_limit_ms(const struct hang *hang)
{
    if (hang->setting_s == ASSIGNMENT_HANG_OFF)
        return INT64_MAX;
    if (hang->setting_s > 0)
        return (int64_t)hang->setting_s * 1000;
    int64_t least_ms = hang->intervals < HANG_STEPS ? HANG_FIRST_MS : HANG_LEAST_MS;
    int64_t usual_ms = HANG_FACTOR * hang->longest_ms;
    return usual_ms > least_ms ? usual_ms : least_ms;
}

bool hang_is_over(const struct hang *hang)
{
    return hang->silence_ms >= hang_limit_ms(hang);
}
