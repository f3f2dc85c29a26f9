/**
 * Bodies that many emails share: written once when a broadcast is sent, and never changed. What a recipient has of its own,
 * the values of its merge variables, stands with the email.
 */
export { findSharedBodies, insertSharedBody, type SharedBodyRow } from './shared-bodies.store.ts';
