/* hand_draw.c: a grey picture of a posed hand: capsules, a depth buffer and one lamp.
 *
 * The hand is seen from far away (no perspective), so a pixel looks along one line parallel to z. For each capsule the
 * foremost point of it on that line has a closed form, two square roots and no loop; the nearest of all capsules is
 * what is seen. A capsule is its own normal, so light and shade, and the dark lines between neighbouring fingers where
 * both turn away from the viewer, come for free.
 *
 * Pixels are sampled at their centres and not smoothed: whoever wants soft edges draws larger and averages.
 */
#include "hand.h"

#include <math.h>

#define RIM        0.55  /* how much darker skin is where it turns away from the viewer */
#define FAR_SHADE  0.16  /* how much darker it is a palm's width further back */
#define BEHIND_ALL -1e30 /* the background's depth */

/* Where the picture is in the skeleton's plane: column i is seen at x = left + (i + 1/2) * pitch[0], row i at
 * y = top - (i + 1/2) * pitch[1]. */
struct camera {
    double left, top, pitch[2];
    double per_pitch; /* 1 / pitch[0] */
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}
static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Fits the hand, without the forearm, into the scene's box. */
static struct camera aim(const struct lm_hand *hand, const struct lm_scene *scene, int side)
{
    double low[2] = {1e30, 1e30}, high[2] = {-1e30, -1e30};
    for (int i = 0; i < LM_HAND_ARM; i++) {
        const struct lm_capsule *part = &hand->part[i];
        for (int axis = 0; axis < 2; axis++) {
            low[axis] = smaller(low[axis], smaller(part->a[axis], part->b[axis]) - part->radius);
            high[axis] = larger(high[axis], larger(part->a[axis], part->b[axis]) + part->radius);
        }
    }
    double width = high[0] - low[0], height = high[1] - low[1], longer = larger(width, height);
    width += (longer - width) * (1 - scene->stretch);
    height += (longer - height) * (1 - scene->stretch);
    width /= scene->size;
    height /= scene->size;
    return (struct camera){(low[0] + high[0]) / 2 - scene->centre[0] * width,
                           (low[1] + high[1]) / 2 + scene->centre[1] * height,
                           {width / side, height / side},
                           side / width};
}

static void draw_wall(const struct lm_scene *scene, int side, double *grey, double *depth)
{
    double step = 1.0 / side;
    for (int row = 0; row < side; row++) {
        double y = (row + 0.5) * step;
        for (int column = 0; column < side; column++) {
            double x = (column + 0.5) * step;
            int below = y > scene->edge + scene->slope * (x - 0.5);
            grey[row * side + column] =
                scene->wall[below] + (scene->gradient[0] * (x - 0.5) + scene->gradient[1] * (y - 0.5));
            depth[row * side + column] = BEHIND_ALL;
        }
    }
}

/* A capsule with what does not depend on the pixel worked out. */
struct drawn {
    const struct lm_capsule *part;
    double along[2];       /* unit vector of its axis in the picture */
    double length;         /* of the axis in the picture */
    double per_length;     /* 1 / length */
    double rise;           /* of z from its first end to its second */
    double slant;          /* rise / length in space: how far the foremost point moves along the axis */
    double per_radius;     /* 1 / radius */
    double front;          /* the greatest z of all its points */
    double per_across;     /* 1 / |along[1]|: the axis's two sides cut a row that far apart, times the diameter */
    int first[2], last[2]; /* columns and rows it can cover, both included */
};

static int clamp_index(double value, int side)
{
    return value < 0 ? 0 : value > side - 1 ? side - 1 : (int)value;
}

static struct drawn prepare(const struct lm_capsule *part, const struct camera *camera, int side)
{
    const double *a = part->a, *b = part->b;
    struct drawn d = {.part = part};
    double dx = b[0] - a[0], dy = b[1] - a[1];
    d.rise = b[2] - a[2];
    /* Seen end on, an axis has no direction in the picture: the small number keeps the quotients finite. */
    double flat = dx * dx + dy * dy + 1e-12;
    d.length = sqrt(flat);
    d.per_length = 1 / d.length;
    d.along[0] = dx * d.per_length;
    d.along[1] = dy * d.per_length;
    d.slant = d.rise / sqrt(flat + d.rise * d.rise);
    d.per_radius = 1 / part->radius;
    d.per_across = 1 / larger(larger(d.along[1], -d.along[1]), 1e-6);
    d.front = larger(a[2], b[2]) + part->radius;
    d.first[0] = clamp_index((smaller(a[0], b[0]) - part->radius - camera->left) / camera->pitch[0] - 0.5, side);
    d.last[0] = clamp_index((larger(a[0], b[0]) + part->radius - camera->left) / camera->pitch[0] + 0.5, side);
    d.first[1] = clamp_index((camera->top - larger(a[1], b[1]) - part->radius) / camera->pitch[1] - 0.5, side);
    d.last[1] = clamp_index((camera->top - smaller(a[1], b[1]) + part->radius) / camera->pitch[1] + 0.5, side);
    return d;
}

struct lamp {
    double towards[3]; /* unit vector */
    double ambient, skin;
};

static struct lamp light_of(const struct lm_scene *scene)
{
    const double *l = scene->light;
    double length = sqrt(l[0] * l[0] + l[1] * l[1] + l[2] * l[2]);
    return (struct lamp){{l[0] / length, l[1] / length, l[2] / length}, scene->ambient, scene->skin};
}

/* The grey of a point of skin with normal (nx, ny, nz) at depth z. */
static inline double shade(const struct lamp *lamp, double nx, double ny, double nz, double z)
{
    double facing = nx * lamp->towards[0] + ny * lamp->towards[1] + nz * lamp->towards[2];
    double light = lamp->ambient + (1 - lamp->ambient) * larger(facing, 0);
    double away = 1 - nz;
    return lamp->skin * light * (1 - RIM * (away * away)) * (1 + z * FAR_SHADE);
}

/* The columns of a row, y above the capsule's first end, between the axis's two sides. */
static void columns_of(const struct drawn *d, const struct camera *camera, double y, int *first, int *last)
{
    double slope = d->along[1] < 0 ? -d->along[0] : d->along[0];
    double middle = d->part->a[0] - camera->left + y * slope * d->per_across;
    double reach = d->part->radius * d->per_across;
    double low = (middle - reach) * camera->per_pitch - 0.5, high = (middle + reach) * camera->per_pitch + 0.5;
    *first = low > d->first[0] ? (int)smaller(low, d->last[0]) : d->first[0];
    *last = high < d->last[0] ? (int)larger(high, d->first[0]) : d->last[0];
}

/* The foremost point over a pixel: with s along and e across the axis, the sphere about the axis's point t reaches
 * z(t) = rise * t + sqrt(radius^2 - e^2 - (s - length * t)^2), which is greatest at t = (s + half * slant) / length,
 * half being the chord's half sqrt(radius^2 - e^2); beyond the ends, at the end. */
static void draw_part(const struct drawn *d, const struct lamp *lamp, const struct camera *camera, int side,
                      double *restrict grey, double *restrict depth)
{
    const double *a = d->part->a;
    const double along_x = d->along[0], along_y = d->along[1], squared = d->part->radius * d->part->radius;
    const double start = camera->left + 0.5 * camera->pitch[0] - a[0], pitch = camera->pitch[0];
    for (int row = d->first[1]; row <= d->last[1]; row++) {
        double y = camera->top - (row + 0.5) * camera->pitch[1] - a[1];
        int column, last;
        columns_of(d, camera, y, &column, &last);
        for (; column <= last; column++) {
            int pixel = row * side + column;
            double x = start + column * pitch;
            double e = x * along_y - y * along_x;
            double chord = squared - e * e;
            if (chord <= 0 || depth[pixel] >= d->front)
                continue;
            double s = x * along_x + y * along_y;
            double t = smaller(larger((s + sqrt(chord) * d->slant) * d->per_length, 0), 1);
            double reach = d->length * t, q = s - reach;
            double height = chord - q * q;
            if (height <= 0)
                continue;
            height = sqrt(height);
            double z = a[2] + d->rise * t + height;
            if (z <= depth[pixel])
                continue;
            depth[pixel] = z;
            grey[pixel] = shade(lamp, (x - along_x * reach) * d->per_radius, (y - along_y * reach) * d->per_radius,
                                height * d->per_radius, z);
        }
    }
}

/* The parts from front to back, so that most of what is hidden is passed over without its square roots. */
static void sort_by_depth(struct drawn *part)
{
    for (int i = 1; i < LM_HAND_PARTS; i++) {
        struct drawn one = part[i];
        int at = i;
        for (; at > 0 && part[at - 1].front < one.front; at--)
            part[at] = part[at - 1];
        part[at] = one;
    }
}

void lm_hand_draw(const struct lm_hand *hand, const struct lm_scene *scene, int side, double *grey, double *depth)
{
    struct camera camera = aim(hand, scene, side);
    struct lamp lamp = light_of(scene);
    struct drawn part[LM_HAND_PARTS];
    draw_wall(scene, side, grey, depth);
    for (int i = 0; i < LM_HAND_PARTS; i++)
        part[i] = prepare(&hand->part[i], &camera, side);
    sort_by_depth(part);
    for (int i = 0; i < LM_HAND_PARTS; i++)
        draw_part(&part[i], &lamp, &camera, side, grey, depth);
}
