/**
 * Runs text work outside of the event loop: parsing and rendering a body of 2 MB takes up to a second, which would
 * delay every other request. Large texts are processed in one thread, round robin by team, with a bounded queue and a
 * time limit. Small texts are processed in the caller's turn, because the transfer would cost more.
 */
export {
  createTextThread,
  type TextThread,
  type TextThreadOptions,
  defineTextTask,
  type TextTask,
  serveTextTasks,
  type TextTaskLoaders,
} from './text-thread.ts';
export { findKeys, findLinkTargets, findPlaces, htmlTasks, makeText, parseVariables, showEmail } from './html-tasks.ts';
