/**
 * Custom events: names that a team declares and its programs send, each about one contact. It promises that a name is one
 * live event's, that a payload is as its event says, and that an event and the runs it starts are one transaction.
 */
export {
  createCustomEvent,
  deleteCustomEvent,
  RESERVED_PREFIX,
  updateCustomEvent,
  getCustomEvent,
  listCustomEvents,
  sendCustomEvent,
} from './custom-events.ts';
export { findCustomEventNamed } from './custom-events.store.ts';
