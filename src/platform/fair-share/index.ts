/**
 * Shares among those who hold something, so that whoever comes next finds some. There is one rule, in `fair-share`: each may
 * hold as much as is free. Those who only ask take that; those who have to wait take a budget, where wishes differ in size
 * and each party is served in the order of its asking, or places, where all are for one and whoever has the fewest is first.
 */
export { createFairBudget, type FairBudget, type GiveBack } from './fair-budget.ts';
export { createFairPlaces, type FairPlaces } from './fair-places.ts';
export { createFairShare, type FairShare } from './fair-share.ts';
export { createTurnLine, type TurnLine } from './turn-line.ts';
export { createTurns, type Turns } from './turns.ts';
