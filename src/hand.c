/* hand.c: the fifteen handshapes, and the skeleton that puts them into space.
 *
 * The idea: what tells one letter from another is a handful of words (index extended, thumb out ...), so those words
 * are data, and only this file knows what they mean in degrees. A finger is a chain of three bones. Its spread fixes an
 * upright plane; within it each joint adds its angle, from straight up through the viewer's direction to straight down.
 * A thumb moves too freely for that and is given by the directions of its bones. The palm is four bones from the wrist
 * to the knuckles, thick enough to touch, and the heel of the thumb.
 *
 * The hand is then turned as a whole about the wrist, without the forearm: M and N hang from a bent wrist in front
 * of it.
 *
 * Left out: joints that move together, flesh that gives way, nails. At 8 x 8 pixels none of it can be seen.
 */
#include "hand.h"

#include <string.h>

#define E LM_EXTENDED
#define F LM_FOLDED

/* clang-format off */
const struct lm_handshape lm_handshape[LM_CLASSES] = {
    /*    index       middle      ring        little         spread             thumb            forward  turn */
    {'A', {F,          F,          F,          F},          {  3,  1, -1,  -3}, LM_THUMB_BESIDE,       0,   -8},
    {'B', {E,          E,          E,          E},          {  1,  0, -1,  -3}, LM_THUMB_ACROSS,       0,    0},
    {'C', {LM_CURVED,  LM_CURVED,  LM_CURVED,  LM_CURVED},  {  2,  0, -2,  -4}, LM_THUMB_OPPOSED,      0,   72},
    {'D', {E,          LM_ROUND,   LM_ROUND,   LM_ROUND},   {  2,  0, -2,  -4}, LM_THUMB_CLOSING,      0,   68},
    {'E', {LM_CLAWED,  LM_CLAWED,  LM_CLAWED,  LM_CLAWED},  {  3,  1, -1,  -3}, LM_THUMB_UNDER,        0,    0},
    {'I', {F,          F,          F,          E},          {  3,  1, -1, -10}, LM_THUMB_OVER,         0,    0},
    {'L', {E,          F,          F,          F},          {  2,  1, -1,  -3}, LM_THUMB_OUT,          0,    0},
    {'M', {LM_HANGING, LM_HANGING, LM_HANGING, F},          {  1,  0, -1,  -3}, LM_THUMB_OVER,        75,    0},
    {'N', {LM_HANGING, LM_HANGING, F,          F},          {  1,  0, -1,  -3}, LM_THUMB_OVER,        75,    0},
    {'O', {LM_ROUND,   LM_ROUND,   LM_ROUND,   LM_ROUND},   {  2,  0, -2,  -4}, LM_THUMB_CLOSING,      0,   72},
    {'R', {E,          LM_LEANING, F,          F},          { -9, 12, -1,  -3}, LM_THUMB_HOLDING,      0,    0},
    {'S', {F,          F,          F,          F},          {  3,  1, -1,  -3}, LM_THUMB_OVER,         0,    0},
    {'U', {E,          E,          F,          F},          {  0,  1, -1,  -3}, LM_THUMB_HOLDING,      0,    0},
    {'V', {E,          E,          F,          F},          { 14,-12, -1,  -3}, LM_THUMB_HOLDING,      0,    0},
    {'W', {E,          E,          E,          F},          { 17,  0,-17,  -3}, LM_THUMB_HOLDING,      0,    0},
};

/* The angle at the knuckle, the middle joint and the last joint. */
static const double joint[LM_BENDS][3] = {
    [LM_EXTENDED] = {  4,   4,   3},
    [LM_LEANING]  = { 16,   4,   3},
    [LM_CURVED]   = { 32,  38,  28},
    [LM_ROUND]    = { 58,  70,  42},
    [LM_CLAWED]   = { 25, 112,  62},
    [LM_FOLDED]   = { 78, 104,  66},
    [LM_HANGING]  = { 88,  10,   6},
};

/* For the thumb's three bones: the angle in the plane of the palm (0 up, 90 away from the palm) and the lift from it. */
static const double thumb_bone[LM_THUMBS][3][2] = {
    [LM_THUMB_BESIDE]  = {{ 48, 20}, {  2, 30}, {  6, 10}},
    [LM_THUMB_ACROSS]  = {{ 35, 40}, {-45, 20}, {-70, -5}},
    [LM_THUMB_OUT]     = {{ 52, 15}, { 80,  5}, { 86, -5}},
    [LM_THUMB_OVER]    = {{ 45, 55}, {-20, 45}, {-72,  0}},
    [LM_THUMB_HOLDING] = {{ 35, 60}, {-55, 30}, {-65, -5}},
    [LM_THUMB_UNDER]   = {{ 40, 45}, {-60, 20}, {-85,  0}},
    [LM_THUMB_OPPOSED] = {{ 40, 60}, { 10, 76}, {  0, 60}},
    [LM_THUMB_CLOSING] = {{ 40, 72}, {-10, 52}, {-10, 20}},
};
/* clang-format on */

#undef E
#undef F

static const double knuckle[LM_FINGERS][3] = {{0.36, 0.00, 0}, {0.12, 0.06, 0}, {-0.12, 0.03, 0}, {-0.35, -0.07, 0}};
static const double finger_length[LM_FINGERS][3] = {
    {0.50, 0.32, 0.24}, {0.55, 0.36, 0.25}, {0.51, 0.33, 0.25}, {0.40, 0.24, 0.21}};
static const double finger_radius[LM_FINGERS] = {0.130, 0.135, 0.128, 0.112};
static const double bone_taper[3] = {1.0, 0.94, 0.86};

static const double thumb_base[3] = {0.22, -0.86, 0.06};
static const double thumb_length[3] = {0.50, 0.38, 0.30};
static const double thumb_radius[3] = {0.190, 0.145, 0.130};

static const double wrist[3] = {0.0, -0.98, 0.0};
#define PALM_RADIUS 0.185
#define ARM_RADIUS  0.30
#define ARM_LENGTH  3.0

/* The sine of an angle in degrees: Taylor's polynomial to the 13th power on [-90, 90], off by less than 1e-9. */
static double sine(double degrees)
{
    while (degrees > 180)
        degrees -= 360;
    while (degrees < -180)
        degrees += 360;
    if (degrees > 90)
        degrees = 180 - degrees;
    else if (degrees < -90)
        degrees = -180 - degrees;
    double x = degrees * (3.14159265358979323846 / 180), y = x * x;
    double sum = 1.0 / 6227020800.0;
    sum = sum * y - 1.0 / 39916800.0;
    sum = sum * y + 1.0 / 362880.0;
    sum = sum * y - 1.0 / 5040.0;
    sum = sum * y + 1.0 / 120.0;
    sum = sum * y - 1.0 / 6.0;
    return x + x * (sum * y);
}

static double cosine(double degrees)
{
    return sine(degrees + 90);
}

/* Appends the bone that starts at from, and moves from to its end. The direction: angle within the palm's plane, lift
 * out of it. */
static void add_bone(struct lm_capsule *part, double from[3], double angle, double lift, double length, double radius)
{
    double flat = length * cosine(lift);
    memcpy(part->a, from, sizeof part->a);
    from[0] += flat * sine(angle);
    from[1] += flat * cosine(angle);
    from[2] += length * sine(lift);
    memcpy(part->b, from, sizeof part->b);
    part->radius = radius;
}

static struct lm_capsule *add_fingers(const struct lm_handshape *shape, const struct lm_hand_variation *variation,
                                      struct lm_capsule *part)
{
    for (int finger = 0; finger < LM_FINGERS; finger++) {
        double at[3], lift = 0;
        double radius = finger_radius[finger] * (1 + variation->girth);
        memcpy(at, knuckle[finger], sizeof at);
        for (int bone = 0; bone < 3; bone++) {
            lift += joint[shape->bend[finger]][bone] + variation->flex[finger];
            add_bone(part++, at, shape->spread[finger] + variation->spread[finger], lift,
                     finger_length[finger][bone] * (1 + variation->length), radius * bone_taper[bone]);
        }
    }
    return part;
}

static struct lm_capsule *add_thumb(const struct lm_handshape *shape, const struct lm_hand_variation *variation,
                                    struct lm_capsule *part)
{
    double at[3];
    memcpy(at, thumb_base, sizeof at);
    for (int bone = 0; bone < 3; bone++) {
        const double *direction = thumb_bone[shape->thumb][bone];
        add_bone(part++, at, direction[0] + variation->spread[LM_FINGERS], direction[1] + variation->flex[LM_FINGERS],
                 thumb_length[bone] * (1 + variation->length), thumb_radius[bone] * (1 + variation->girth));
    }
    return part;
}

/* The palm's four bones, the pad opposite the thumb, and a forearm that reaches out of any frame. */
static void add_palm_and_arm(struct lm_capsule *part)
{
    for (int finger = 0; finger < LM_FINGERS; finger++, part++) {
        for (int axis = 0; axis < 3; axis++)
            part->b[axis] = knuckle[finger][axis];
        part->a[0] = 0.68 * knuckle[finger][0];
        part->a[1] = wrist[1] + 0.06;
        part->a[2] = part->b[2] = -0.06;
        part->radius = PALM_RADIUS;
    }
    *part++ = (struct lm_capsule){{-0.20, -0.84, 0.05}, {-0.33, -0.35, 0.03}, 0.17};
    *part++ = (struct lm_capsule){{wrist[0], wrist[1] + 0.05, -0.04}, {0, -1.15, -0.04}, ARM_RADIUS};
    *part = (struct lm_capsule){{wrist[0], wrist[1] - 0.10, -0.12}, {0, wrist[1] - ARM_LENGTH, -0.12}, ARM_RADIUS};
}

struct turn {
    double sine, cosine;
};

static struct turn turn_by(double degrees)
{
    return (struct turn){sine(degrees), cosine(degrees)};
}

/* Turns axis `from` towards axis `to`, about the wrist. */
static void rotate(double point[3], int from, int to, struct turn by)
{
    double p = point[from] - wrist[from], q = point[to] - wrist[to];
    point[from] = wrist[from] + (p * by.cosine - q * by.sine);
    point[to] = wrist[to] + (p * by.sine + q * by.cosine);
}

void lm_hand_pose(const struct lm_handshape *shape, const struct lm_hand_variation *variation, struct lm_hand *hand)
{
    struct lm_capsule *part = add_fingers(shape, variation, hand->part);
    part = add_thumb(shape, variation, part);
    add_palm_and_arm(part);

    struct turn forward = turn_by(shape->forward + variation->forward);
    struct turn turn = turn_by(shape->turn + variation->turn);
    struct turn lean = turn_by(variation->lean);
    for (int i = 0; i < LM_HAND_ARM; i++) {
        double *end[2] = {hand->part[i].a, hand->part[i].b};
        for (int e = 0; e < 2; e++) {
            rotate(end[e], 1, 2, forward);
            rotate(end[e], 2, 0, turn);
            rotate(end[e], 1, 0, lean);
        }
    }
    struct turn arm = turn_by(variation->arm);
    rotate(hand->part[LM_HAND_ARM].a, 1, 0, arm);
    rotate(hand->part[LM_HAND_ARM].b, 1, 0, arm);
}
