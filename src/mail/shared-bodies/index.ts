/**
 * Shared bodies: the html and text of a broadcast, or of the emails of one request that name the same large template,
 * stored once for all of them. Each email keeps the values of its own recipient, and its body is rendered when it is
 * composed or shown. A shared body never changes, and is removed when no email refers to it any more.
 */
export {
  findSharedBody,
  insertSharedBodies,
  removeSharedBody,
  removeUnusedBodies,
  type SharedBodyRow,
} from './shared-bodies.store.ts';
export {
  openSharedBody,
  parseBody,
  readBody,
  renderBody,
  type MergedBody,
  type OpenedBody,
  type RenderedBody,
  type SharedValues,
} from './render-shared-body.ts';
