/* info.c: `libras_mpi info`. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "devices.h"
#include "picture.h"
#include "prepare.h"
#include "provenance.h"
#include "report.h"
#include "sweep_yaml.h"
#include "voc.h"

static void print_backends(FILE *f)
{
    fprintf(f, "\n%-18s %-5s %s\n", "device", "here", "what it is");
    for (const struct lm_backend *const *b = lm_backends(); *b; b++) {
        struct lm_error why;
        int there = (*b)->probe(&why) == LM_OK;
        fprintf(f, "%-18s %-5s %s%s%s\n", (*b)->name, there ? "yes" : "no", (*b)->summary, there ? "" : "; ",
                there ? "" : why.text);
    }
}

static void print_libraries(FILE *f)
{
    char text[120];
    const char *yaml = lm_sweep_yaml_version();
    lm_picture_library(LM_PICTURE_JPEG, text, sizeof text);
    fprintf(f, "%-12s %s\n", "jpeg", text);
    lm_picture_library(LM_PICTURE_PNG, text, sizeof text);
    fprintf(f, "%-12s %s\n", "png", text);
    lm_voc_library(text, sizeof text);
    fprintf(f, "%-12s %s\n", "voc xml", text);
    if (strcmp(yaml, "none") == 0)
        fprintf(f, "%-12s no libyaml, so no sweep files\n", "yaml");
    else
        fprintf(f, "%-12s libyaml %s\n", "yaml", yaml);
}

int lm_command_info(const struct lm_call *call)
{
    struct lm_results results = {0};
    struct lm_devices devices;
    struct lm_pair pair[LM_VERSIONS];
    struct lm_error err;
    int code = lm_devices_choose(call, &devices);
    if (code == LM_OK) {
        lm_devices_say(call->world, &devices, "");
        code = lm_prepare_ranks(call->world, devices.backend, &results);
    }
    if (code == LM_OK && call->world->rank == 0) {
        lm_versions(pair);
        for (int k = 0; k < LM_VERSIONS; k++)
            printf("%-12s %s\n", pair[k].name, pair[k].value);
        print_libraries(stdout);
        print_backends(stdout);
        lm_report_ranks(&results, stdout);
        code = lm_flush_stdout(&err);
    }
    lm_results_free(&results);
    return lm_agree(call->world, code, &err);
}
