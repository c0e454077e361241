/* hand.h: a hand as a skeleton: which finger does what in each letter, and where its parts then lie in space.
 *
 * A letter of the manual alphabet is a row of a table (lm_handshape): how each finger is bent and spread, where the
 * thumb goes, and how the wrist turns the hand. lm_hand_pose turns such a row into capsules (line segments with a
 * thickness) in space; lm_hand_draw makes a grey picture of them. Both use only + - * / and sqrt on doubles, which IEEE
 * 754 rounds in one way, so that the picture has the same bytes on every machine: sine and cosine are polynomials here.
 *
 * Axes, seen by the viewer: x to the right, y up, z towards the viewer. The hand is a right one with its palm to the
 * viewer, so its thumb is on the right. The unit of length is the width of the palm. Angles are in degrees.
 */
#ifndef LM_HAND_H
#define LM_HAND_H

#include "dataset.h"

enum lm_finger { LM_INDEX, LM_MIDDLE, LM_RING, LM_LITTLE, LM_FINGERS };

/* How a finger is bent: a row of three joint angles in hand.c. */
enum lm_bend {
    LM_EXTENDED, /* straight up */
    LM_LEANING,  /* straight, leaning to the viewer: it passes in front of a neighbour */
    LM_CURVED,   /* an arc, the fingertip well away from the thumb */
    LM_ROUND,    /* an arc that closes on the thumb's tip */
    LM_CLAWED,   /* upright at the knuckle, the fingertip bent down onto the thumb */
    LM_FOLDED,   /* into the palm, as in a fist */
    LM_HANGING,  /* bent at the knuckle only: hangs down when the wrist is bent forward */
    LM_BENDS
};

/* Where the thumb is: a row of three directions in hand.c. */
enum lm_thumb {
    LM_THUMB_BESIDE,  /* upright, along the side of the fist */
    LM_THUMB_ACROSS,  /* flat across the open palm */
    LM_THUMB_OUT,     /* pointing away, at a right angle to the index finger */
    LM_THUMB_OVER,    /* over the folded fingers */
    LM_THUMB_HOLDING, /* on the nails of the ring and little finger, holding them down */
    LM_THUMB_UNDER,   /* below the bent fingertips */
    LM_THUMB_OPPOSED, /* the lower arm of a C */
    LM_THUMB_CLOSING, /* the lower half of a ring */
    LM_THUMBS
};

/* One letter. Spread is the angle of a finger from straight up, positive towards the thumb. The wrist turns the hand
 * forward (fingers towards the viewer), then about the upright axis (positive: the palm looks to the right). */
struct lm_handshape {
    char letter;
    enum lm_bend bend[LM_FINGERS];
    double spread[LM_FINGERS];
    enum lm_thumb thumb;
    double forward, turn;
};

extern const struct lm_handshape lm_handshape[LM_CLASSES]; /* in the order of LM_LETTERS */

/* What makes one hand differ from the next; all zero is the table's own. */
struct lm_hand_variation {
    double flex[LM_FINGERS + 1]; /* added to each joint of a finger; the last one lifts the thumb */
    double spread[LM_FINGERS + 1];
    double forward, turn;
    double lean;   /* within the picture, clockwise */
    double length; /* fingers longer by this fraction */
    double girth;  /* fingers thicker by this fraction */
    double arm;    /* the forearm's own lean */
};

/* All points within radius of the segment from a to b. */
struct lm_capsule {
    double a[3], b[3];
    double radius;
};

#define LM_HAND_PARTS 22 /* 3 of each finger, 3 of the thumb, 5 of the palm, heel and forearm */
#define LM_HAND_ARM   (LM_HAND_PARTS - 1)

struct lm_hand {
    struct lm_capsule part[LM_HAND_PARTS]; /* the last, LM_HAND_ARM, is the forearm */
};

void lm_hand_pose(const struct lm_handshape *shape, const struct lm_hand_variation *variation, struct lm_hand *hand);

/* The frame and the light. The picture is a square, x and y from 0 to 1, y down. */
struct lm_scene {
    double centre[2];   /* where the middle of the hand's bounding box is, forearm apart */
    double size;        /* the longer side of that box */
    double stretch;     /* 0: true to shape; 1: the shorter side is widened to the longer; between: in part */
    double light[3];    /* direction towards the lamp; any length but 0 */
    double ambient;     /* share of the light that comes from everywhere, 0 ... 1 */
    double skin;        /* grey of the skin under full light, 0 ... 1 */
    double wall[2];     /* grey of the background above and below its edge */
    double edge, slope; /* the edge is the line y = edge + slope * (x - 1/2) */
    double gradient[2]; /* added to the background from one side to the other, in x and in y */
};

/* Draws side x side grey values, row by row, nominally 0 ... 1. depth is room for as many. 1 <= side. */
void lm_hand_draw(const struct lm_hand *hand, const struct lm_scene *scene, int side, double *grey, double *depth);

#endif
