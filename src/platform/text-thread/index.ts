/**
 * Text work beside the event loop: reading and rendering a body of 2 MB takes up to a second, which nobody else's request may
 * wait for. Large texts are worked on in one thread, round robin by team, with a bound on what waits and a limit on time;
 * small ones in the caller's turn, because a hop would cost more than they do.
 */
export { createTextThread, type TextThread, type TextThreadOptions } from './text-thread.ts';
export { defineTextTask, type TextTask } from './text-task.ts';
export { serveTextTasks, type TextTaskLoaders } from './serve-text-tasks.ts';
export { findKeys, findLinkTargets, findPlaces, htmlTasks, makeText, showEmail } from './html-tasks.ts';
