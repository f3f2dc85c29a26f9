/**
 * Objects in an S3-compatible store, by our own client on undici and `protocol/aws-signature`: bodies are streamed,
 * every attempt and every wait is bounded, and a write only counts once the store has confirmed it on a second request.
 * An object is never changed: a caller that writes a key again writes the same content. ObjectStoreFault is the only
 * error for what the store does.
 */
export { openObjectStore } from './object-store.ts';
export type { ObjectBody, ObjectHead, ObjectStore, Stored } from './object-store.ts';
export { type Asked, type ObjectStoreOptions, ObjectStoreFault } from './requests.ts';
