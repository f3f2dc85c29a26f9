import {
  createCustomEvent,
  deleteCustomEvent,
  getCustomEvent,
  listCustomEvents,
  sendCustomEvent,
  updateCustomEvent,
} from '../features/automations/custom-events/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const customEvents = {
  createEvent: (ctx, { body }) => createCustomEvent(ctx, body),
  listEvents: (ctx, { query }) => listCustomEvents(ctx, pageOf(query)),
  sendEvent: (ctx, { body }) => sendCustomEvent(ctx, body),
  getEvent: (ctx, { path }) => getCustomEvent(ctx, path.identifier),
  updateEvent: (ctx, { path, body }) => updateCustomEvent(ctx, path.identifier, body),
  deleteEvent: (ctx, { path }) => deleteCustomEvent(ctx, path.identifier),
} satisfies Partial<Operations>;
