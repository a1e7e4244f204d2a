// blas_client.c: a program that knows nothing of kardan loads a BLAS and has it bound, then a library with kardan in it.
// Usage: blas_client BLAS LIBRARY. Prints the guard of kardan's calls (math/blas.h) and how many products of threads were wrong.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    long (*wrong_products)(int *guard);
    int guard = -1;
    if (argc != 3 || !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) return 2;
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), *found;
    if (!library || !(found = dlsym(library, "late_wrong_products"))) {
        printf("%s\n", dlerror());
        return 2;
    }
    memcpy(&wrong_products, &found, sizeof wrong_products);
    const long wrong = wrong_products(&guard);
    printf("guard %d wrong %ld\n", guard, wrong);
    return 0;
}
