/* Attaches all programs of an eBPF object until it is ended.   attach OBJECT. Prints "attached". */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct bpf_object *object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
    struct bpf_program *program;
    if (!object || bpf_object__load(object))
        return 1;
    bpf_object__for_each_program(program, object)
    {
        if (!bpf_program__attach(program))
            return 1;
    }
    printf("attached\n");
    fflush(stdout);
    pause();
    return 0;
}
