/* Whole files of each text format: small enough to be read, complete enough that nothing in them can change unseen. */
#include "base/test.h"
#include "profile/encode.h"
#include "profile/fixture_test.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

/* Two events: one whose values are counts times a period, one with values of its own. */
static int two_events(struct profile *p)
{
    static const struct fixture_sample samples[] = {
        {"web", 20, 0, XP_CAUSE_END, 10000000, 1, 3, {W_KERNEL(0x3010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x1010)}},
        {"web", 20, 0, XP_CAUSE_END, 20000000, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
        {"web", 20, 1, XP_CAUSE_END, 7, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
        {"api", 19, 1, XP_CAUSE_NO_RULE, 5, 0, 1, {W_LEAF(3, 0x1010)}},
    };
    int rc = fixture_profile(samples, COUNT(samples), p);
    p->events[1] = event_kind_find("page-faults");
    p->period[1] = 1;
    p->nevents = 2;
    return rc;
}

TEST(formats_svg)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0}, title = {0};
    CHECK_EQ(two_events(&p), 0);
    CHECK_EQ(encoder_by_name("svg")->encode(&p, &b), 0);
    CHECK(strstr(b.data,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"182\" viewBox=\"0 0 1200 182\" "));
    buf_printf(&title,
               "\n<text class=\"h\" x=\"12\" y=\"28\">demo --flag</text><text class=\"s\" x=\"12\" y=\"48\">%s: ",
               p.events[0]->help);
    const char *body = strstr(b.data, title.data);
    CHECK(body);
    CHECK_STR(body + title.len - 2,
              ": 30.0 ms in 2 samples over 2.00 s; 100.0 % of the stacks are whole</text>\n"
              "<g><title>web\n"
              "30.0 ms, 100.00 %, 2 samples; self 0.00 ns</title><rect x=\"12.00\" y=\"152\" width=\"1176.00\" "
              "height=\"17\" fill=\"hsl(215,18%,82%)\"/><text x=\"15.00\" y=\"164\">web</text></g>\n"
              "<g><title>main (/usr/bin/demo)\n"
              "30.0 ms, 100.00 %, 2 samples; self 0.00 ns</title><rect x=\"12.00\" y=\"134\" width=\"1176.00\" "
              "height=\"17\" fill=\"hsl(51,88%,69%)\"/><text x=\"15.00\" y=\"146\">main</text></g>\n"
              "<g><title>leaf (/usr/bin/demo)\n"
              "20.0 ms, 66.67 %, 1 samples; self 20.0 ms</title><rect x=\"12.00\" y=\"116\" width=\"784.00\" "
              "height=\"17\" fill=\"hsl(49,88%,67%)\"/><text x=\"15.00\" y=\"128\">leaf</text></g>\n"
              "<g><title>outer (/usr/bin/demo)\n"
              "10.0 ms, 33.33 %, 1 samples; self 0.00 ns</title><rect x=\"796.00\" y=\"116\" width=\"392.00\" "
              "height=\"17\" fill=\"hsl(48,88%,68%)\"/><text x=\"799.00\" y=\"128\">outer</text></g>\n"
              "<g><title>inner (/usr/bin/demo)\n"
              "10.0 ms, 33.33 %, 1 samples; self 0.00 ns</title><rect x=\"796.00\" y=\"98\" width=\"392.00\" "
              "height=\"17\" fill=\"hsl(45,88%,66%)\"/><text x=\"799.00\" y=\"110\">inner</text></g>\n"
              "<g><title>leaf (/usr/bin/demo)\n"
              "10.0 ms, 33.33 %, 1 samples; self 0.00 ns</title><rect x=\"796.00\" y=\"80\" width=\"392.00\" "
              "height=\"17\" fill=\"hsl(49,88%,67%)\"/><text x=\"799.00\" y=\"92\">leaf</text></g>\n"
              "<g><title>vfs_read ([kernel.kallsyms])\n"
              "10.0 ms, 33.33 %, 1 samples; self 10.0 ms</title><rect x=\"796.00\" y=\"62\" width=\"392.00\" "
              "height=\"17\" fill=\"hsl(10,82%,71%)\"/><text x=\"799.00\" y=\"74\">vfs_read</text></g>\n"
              "</svg>\n");
}

TEST(formats_speedscope)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(two_events(&p), 0);
    CHECK_EQ(encoder_by_name("speedscope")->encode(&p, &b), 0);
    CHECK_STR(b.data,
              "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"xprof\","
              "\"name\":\"demo --flag\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[\n"
              "{\"name\":\"api (19)\"},\n"
              "{\"name\":\"[cut: no-rule]\"},\n"
              "{\"name\":\"[libplain.so.1+0x1000]\",\"file\":\"/usr/lib/libplain.so.1\"},\n"
              "{\"name\":\"web (20)\"},\n"
              "{\"name\":\"main\",\"file\":\"/usr/bin/demo\"},\n"
              "{\"name\":\"outer\",\"file\":\"demo.c\",\"line\":42},\n"
              "{\"name\":\"inner\",\"file\":\"demo.c\",\"line\":14},\n"
              "{\"name\":\"leaf\",\"file\":\"/usr/bin/demo\"},\n"
              "{\"name\":\"vfs_read [kernel]\",\"file\":\"[kernel.kallsyms]\"}]},\"profiles\":[\n"
              "{\"type\":\"sampled\",\"name\":\"cpu\",\"unit\":\"nanoseconds\",\"startValue\":0,"
              "\"endValue\":30000000,\"samples\":[[3,4,5,6,7,8],[3,4,7]],\"weights\":[10000000,20000000]},\n"
              "{\"type\":\"sampled\",\"name\":\"page-faults\",\"unit\":\"none\",\"startValue\":0,"
              "\"endValue\":12,\"samples\":[[0,1,2],[3,4,7]],\"weights\":[5,7]}]}\n");
}

/* As wide as a terminal; what was cut or took nothing is not in it. */
TEST(formats_top)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(two_events(&p), 0);
    CHECK_EQ(encode_top(&p, 10, &b), 0);
    CHECK_STR(b.data,
              "    SELF                   TOTAL  FUNCTION                                                      "
              "FILE\n"
              " 66.67 %       20.0 ms  100.00 %  leaf                                                          "
              "demo\n"
              " 33.33 %       10.0 ms   33.33 %  vfs_read                                                      "
              "[kernel.kallsyms]\n"
              "  0.00 %       0.00 ns  100.00 %  main                                                          "
              "demo\n"
              "  0.00 %       0.00 ns   33.33 %  outer                                                         "
              "demo\n"
              "  0.00 %       0.00 ns   33.33 %  inner                                                         "
              "demo\n");
}

TEST(formats_collapsed)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(two_events(&p), 0);
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    CHECK_STR(b.data,
              "web;main;leaf 20000000\n"
              "web;main;outer;inner;leaf;vfs_read_[k] 10000000\n");
}

/* Of threads that are known by their numbers, and of processes whose threads are not. */
TEST(formats_stacks)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(two_events(&p), 0);
    for (size_t i = 0; i < p.stacks.n; i++)
        if (!strcmp(profile_text(&p, p.processes.v[p.stacks.v[i].process].name), "web") && !p.stacks.v[i].event) {
            p.stacks.v[i].tid = 21 + (u32)i;
            p.stacks.v[i].nstid = 3;
        }
    CHECK_EQ(encoder_for_path("x.stacks")->encode(&p, &b), 0);
    CHECK(encoder_for_path("x.stacks")->threads);
    CHECK_STR(b.data,
              "time:20231114_22_13_20\n"
              "counts:\n"
              "pid\tusid\tksid\tcpu/10000000nanoseconds\tpage-faults/1count\n"
              "19\t1\t-14\t0\t5\n"
              "20\t4\t-14\t0\t7\n"
              "22\t2\t3\t1\t0\n"
              "23\t4\t-14\t2\t0\n"
              "traces:\n"
              "sid\ttrace\n"
              "1\t[cut:no-rule];[libplain.so.1+0x1000]+0x10;\n"
              "2\tmain+0x10;outer+0x105;inner+0x105;leaf+0x10;\n"
              "3\tvfs_read+0x10;\n"
              "4\tmain+0x10;leaf+0x10;\n"
              "info:\n"
              "pid\tNSpid\tcomm\ttgid\tcgroup\n"
              "19\t19\tapi\t19\t0\n"
              "22\t3\tweb\t20\t0\n"
              "23\t3\tweb\t20\t0\n"
              "20\t20\tweb\t20\t0\n"
              "OK\n");
}

/* A track for each value of each thread; each sample at the end of its share of the two seconds. */
TEST(formats_gecko)
{
    AUTO_PROFILE struct profile p = {0};
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(two_events(&p), 0);
    CHECK_EQ(encoder_by_name("gecko")->encode(&p, &b), 0);
    CHECK(strstr(b.data,
                 "{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":55,\"product\":\"xprof\","
                 "\"profileName\":\"demo --flag\","));
    CHECK(strstr(b.data, ",\"interval\":10.000000,\"startTime\":1700000000000.000000,"));
    CHECK(strstr(b.data, "\"entries\":[{\"label\":\"command\",\"format\":\"string\",\"value\":\"demo --flag\"},{"));
    const char *api = strstr(b.data, "\n{\"name\":\"api page-faults\"");
    const char *cpu = strstr(b.data,
                             "\n{\"name\":\"web cpu\",\"processName\":\"web\",\"processType\":\"default\","
                             "\"isMainThread\":true,\"pid\":\"20\",\"tid\":2,");
    const char *faults = strstr(b.data,
                                "\n{\"name\":\"web page-faults\",\"processName\":\"web\","
                                "\"processType\":\"default\",\"isMainThread\":false,\"pid\":\"20\",\"tid\":3,");
    CHECK(api && cpu && faults && api < cpu && cpu < faults);
    CHECK(strstr(api,
                 "\"samples\":{\"length\":2,\"weightType\":\"samples\",\"stack\":[null,1],"
                 "\"time\":[0.000000,2000.000000],\"weight\":[0,5]},"));
    CHECK(strstr(cpu,
                 "\"samples\":{\"length\":3,\"weightType\":\"tracing-ms\",\"stack\":[null,4,5],"
                 "\"time\":[0.000000,666.666666,2000.000000],\"weight\":[0.000000,10.000000,20.000000],"
                 "\"threadCPUDelta\":[0,10000000,20000000]},\"frameTable\":{\"length\":5,\"func\":[0,1,2,3,4],"
                 "\"line\":[null,42,14,null,null],\"category\":[1,1,1,1,2],"));
    CHECK(strstr(cpu,
                 "\"funcTable\":{\"length\":5,\"name\":[0,2,4,5,6],\"fileName\":[null,3,3,null,null],"
                 "\"resource\":[0,0,0,0,1],"));
    CHECK(strstr(cpu, "\"resourceTable\":{\"length\":2,\"name\":[1,7],"));
    CHECK(strstr(cpu,
                 "\"stackTable\":{\"length\":6,\"prefix\":[null,0,1,2,3,0],\"frame\":[0,1,2,3,4,3]},"
                 "\"stringArray\":[\"main\",\"/usr/bin/demo\",\"outer\",\"demo.c\",\"inner\",\"leaf\","
                 "\"vfs_read\",\"[kernel.kallsyms]\"]},"));
}
