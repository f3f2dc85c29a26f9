/**
 * Objects in an S3-compatible store, by our own client on undici and `protocol/aws-signature`: bodies stream, every try and every wait is
 * bounded, and nothing counts as stored before the store was asked for it again. An object is never changed: a caller that writes a key again
 * writes the same. It throws ObjectStoreFault alone for what the other side does.
 */
export { openObjectStore } from './object-store.ts';
export type { ObjectBody, ObjectHead, ObjectStore, Stored } from './object-store.ts';
export { type Asked, type ObjectStoreOptions, ObjectStoreFault } from './requests.ts';
