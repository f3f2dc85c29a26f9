/**
 * Tells the outside what was recorded. Notify sends what lies in the outbox of each webhook, signed: at least once, with
 * the same id and bytes each time, no endpoint waiting for another one, and never to an address inside. Listeners stream
 * a team's events to whoever has no public address: all that are recorded meanwhile, with few of them in memory.
 */
export { createListeners, type Listeners } from './listen.ts';
export { createNotify, type Notify, type NotifyOptions } from './notify.ts';
export { createTellAdmins } from './tell-admins.ts';
export { readPosition, type StreamPosition } from './listen-frames.ts';
export { forgetListeners } from './listen-sweep.ts';
