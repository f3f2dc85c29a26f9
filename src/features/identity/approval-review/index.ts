/**
 * Collects what a person sees of a call that waits for approval. Files that the call names by a URL are fetched when it
 * is held, and again when it is approved. Objects that it names by id are read when it is held, on each view, and again
 * when it is approved.
 */
export { fetchFilesOf, lookAt } from './review-call.ts';
