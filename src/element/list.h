// list.h: the elements that there are: one line each, the kind of the public interface and the class.
#ifndef KARDAN_ELEMENT_LIST_H
#define KARDAN_ELEMENT_LIST_H

#define KD_FORCES(X)                                                                                                   \
    X(KD_TSDA, kd_force_tsda)                                                                                          \
    X(KD_RSDA, kd_force_rsda)                                                                                          \
    X(KD_BUSHING, kd_force_bushing)                                                                                    \
    X(KD_APPLIED, kd_force_applied)                                                                                    \
    X(KD_JOINT_SPRING, kd_force_joint_spring)                                                                          \
    X(KD_JOINT_STOP, kd_force_joint_stop)                                                                              \
    X(KD_JOINT_FRICTION, kd_force_joint_friction)                                                                      \
    X(KD_TYRE, kd_force_tyre)                                                                                          \
    X(KD_CONTACT, kd_force_contact)                                                                                    \
    X(KD_MAXWELL, kd_force_maxwell)                                                                                    \
    X(KD_HYDRAULIC, kd_force_hydraulic)                                                                                \
    X(KD_AIR_SPRING, kd_force_air_spring)                                                                              \
    X(KD_CLUTCH, kd_force_clutch)                                                                                      \
    X(KD_MAGIC_TYRE, kd_force_magic_tyre)                                                                              \
    X(KD_TMEASY_TYRE, kd_force_tmeasy_tyre)                                                                            \
    X(KD_SURFACE_CONTACT, kd_force_surface_contact)

#define KD_CONSTRAINTS(X)                                                                                              \
    X(KD_DISTANCE, kd_constraint_distance)                                                                             \
    X(KD_POINT_ON_PLANE, kd_constraint_point_on_plane)                                                                 \
    X(KD_POINT_ON_LINE, kd_constraint_point_on_line)                                                                   \
    X(KD_POINT_ON_CURVE, kd_constraint_point_on_curve)                                                                 \
    X(KD_COUPLING, kd_constraint_coupling)                                                                             \
    X(KD_ORIENTATION, kd_constraint_orientation)                                                                       \
    X(KD_ROLLING_DISC, kd_constraint_rolling_disc)                                                                     \
    X(KD_KNIFE_EDGE, kd_constraint_knife_edge)                                                                         \
    X(KD_EXPRESSION, kd_constraint_expression)                                                                         \
    X(KD_VELOCITY, kd_constraint_velocity)                                                                             \
    X(KD_ROPE, kd_constraint_rope)                                                                                     \
    X(KD_WHEEL_RAIL, kd_constraint_wheel_rail)                                                                         \
    X(KD_SURFACE_KEPT, kd_constraint_surface_contact)

#define KD_STATES(X)                                                                                                   \
    X(KD_STATE_LAG, kd_state_lag)                                                                                      \
    X(KD_STATE_PI, kd_state_pi)                                                                                        \
    X(KD_STATE_ODE, kd_state_ode)

#define KD_BLOCKS(X)                                                                                                   \
    X(KD_BLOCK_EXPRESSION, kd_block_expression)                                                                        \
    X(KD_BLOCK_PID, kd_block_pid)                                                                                      \
    X(KD_BLOCK_STATE_SPACE, kd_block_state_space)                                                                      \
    X(KD_BLOCK_TRANSFER, kd_block_transfer)                                                                            \
    X(KD_BLOCK_FMU, kd_block_fmu)                                                                                      \
    X(KD_BLOCK_LIBRARY, kd_block_library)                                                                              \
    X(KD_BLOCK_USER, kd_block_user)

#endif
