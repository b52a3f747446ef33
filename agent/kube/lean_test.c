#include "kube/lean.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <string.h>

TEST(kube_lean_drops_managed_fields)
{
    static const char *const cases[][2] = {
        {"{\"metadata\":{\"managedFields\":[{\"a\":\"]}\\\"\",\"f\":{\"f:b\":{}}},{}],\"name\":\"n\"}}",
         "{\"metadata\":{\"managedFields\":0,\"name\":\"n\"}}"},
        {"{\"a\":\"\\\"managedFields\\\":[1]\",\"b\":\"managedFields\",\"managedFields\":7}", NULL},
        {"{\"managedFields\":{}}", "{\"managedFields\":0}"},
        {"{\"managedFields\":[[1]", "{\"managedFields\":0"}, /* it does not end: still no JSON */
        {"{\"a\":\"b\\", NULL},
        {"\"managedFields\":", NULL},
        {"", NULL},
    };
    AUTO_BUF struct buf b = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = strdup(cases[i][0]); /* whoever reads behind its end is seen */
        const char *lean = cases[i][1] ? cases[i][1] : text;
        lean_copy(&b, text, strlen(text));
        CHECK(b.len == strlen(lean) && !memcmp(b.data ? b.data : "", lean, b.len));
        free(text);
    }
}
