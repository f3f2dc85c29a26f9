/**
 * Moves an installation to another database: every row is copied, compared and hashed, the service stands still meanwhile. It promises
 * that at no moment both databases can be started on, and that whatever is interrupted is made anew, never taken for whole.
 */
export { APART, megabytes, MoveDone, MoveRefused, type MoveEnd } from './move-ends.ts';
export {
  moveDatabase,
  planMove,
  type Moved,
  type MoveOrder,
  type MovePhase,
  type MovePlan,
  type MoveWatch,
  undoMove,
} from './move-database.ts';
export { keysInRows, namedContents } from './named-contents.store.ts';
