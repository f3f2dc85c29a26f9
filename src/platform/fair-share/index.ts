/** Shares places among those who hold them, so that whoever comes next finds some. It promises no order. */
export { createFairShare, type FairShare } from './fair-share.ts';
export { createTurnLine, type TurnLine } from './turn-line.ts';
export { createTurns, type Turns } from './turns.ts';
