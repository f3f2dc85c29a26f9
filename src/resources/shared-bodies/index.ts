/**
 * Shared bodies: the html and text of a broadcast, stored once for all its emails. Each email keeps the values of its own
 * recipient, and its body is rendered where it is read: composed, or shown. A shared body never changes, and goes
 * when no email has it any more.
 */
export { findSharedBody, insertSharedBody, removeSharedBody, type SharedBodyRow } from './shared-bodies.store.ts';
export {
  parseBody,
  readBody,
  renderBody,
  renderSharedBody,
  type MergedBody,
  type RenderedBody,
  type SharedValues,
} from './render-shared-body.ts';
