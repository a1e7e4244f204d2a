// math/small_order.h: loops over few rows with their number known to the compiler.
#ifndef KD_MATH_SMALL_ORDER_H
#define KD_MATH_SMALL_ORDER_H

enum { KD_SMALL_ORDER = 6 }; // the largest one

// call(n, ...) with n = 1 .. KD_SMALL_ORDER as a constant; larger ones: behind `otherwise`
#define KD_FOR_SMALL_ORDER(n, otherwise, call, ...)                                                                    \
    switch (n) {                                                                                                       \
    case 1:                                                                                                            \
        call(1, __VA_ARGS__);                                                                                          \
        break;                                                                                                         \
    case 2:                                                                                                            \
        call(2, __VA_ARGS__);                                                                                          \
        break;                                                                                                         \
    case 3:                                                                                                            \
        call(3, __VA_ARGS__);                                                                                          \
        break;                                                                                                         \
    case 4:                                                                                                            \
        call(4, __VA_ARGS__);                                                                                          \
        break;                                                                                                         \
    case 5:                                                                                                            \
        call(5, __VA_ARGS__);                                                                                          \
        break;                                                                                                         \
    case 6:                                                                                                            \
        call(6, __VA_ARGS__);                                                                                          \
        break;                                                                                                         \
    default:                                                                                                           \
        otherwise;                                                                                                     \
    }

#endif
