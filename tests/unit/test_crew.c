/* A crew: every item once, whatever the threads, items and parts; parts that do not come out even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "crew.h"

#define MOST 1000

struct seen {
    atomic_int times[MOST];
    atomic_int calls, wrong;
    size_t n, part;
};

static void see(void *context, size_t first, size_t last)
{
    struct seen *seen = context;
    atomic_fetch_add(&seen->calls, 1);
    if (first >= last || last > seen->n || last - first > seen->part || first % seen->part != 0) {
        atomic_fetch_add(&seen->wrong, 1);
        return;
    }
    for (size_t k = first; k < last; k++)
        atomic_fetch_add(&seen->times[k], 1);
}

static void test_every_item_once(void **state)
{
    static const size_t threads[] = {0, 1, 2, 7, 64}, items[] = {0, 1, 31, 32, 33, MOST}, parts[] = {1, 32, 5000};
    (void)state;
    for (size_t t = 0; t < 5; t++)
        for (size_t i = 0; i < 6; i++)
            for (size_t p = 0; p < 3; p++) {
                struct seen *seen = calloc(1, sizeof *seen);
                assert_non_null(seen);
                seen->n = items[i];
                seen->part = parts[p];
                lm_crew(threads[t], items[i], parts[p], see, seen);
                assert_int_equal(seen->wrong, 0);
                assert_int_equal(seen->calls, (items[i] + parts[p] - 1) / parts[p]);
                for (size_t k = 0; k < MOST; k++)
                    assert_int_equal(seen->times[k], k < items[i]);
                free(seen);
            }
}

struct meeting {
    atomic_int here;
    atomic_int met;
};

/* Waits for the other one: a crew of one thread would never see it. */
static void meet(void *context, size_t first, size_t last)
{
    struct meeting *meeting = context;
    (void)first;
    (void)last;
    atomic_fetch_add(&meeting->here, 1);
    for (long patience = 0; patience < 2000000000L && atomic_load(&meeting->here) < 2; patience++)
        ;
    if (atomic_load(&meeting->here) == 2)
        atomic_fetch_add(&meeting->met, 1);
}

static void test_two_at_a_time(void **state)
{
    struct meeting meeting = {0, 0};
    (void)state;
    lm_crew(2, 2, 1, meet, &meeting);
    assert_int_equal(meeting.met, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once),
        cmocka_unit_test(test_two_at_a_time),
    };
    return cmocka_run_group_tests_name("crew", tests, NULL, NULL);
}
