import { listEvents, type NewEvent, type RecordedEvent } from '../../src/mail/events/index.ts';
import type { Executor } from '../../src/platform/db/index.ts';

type Untyped<Event> = Event extends unknown ? Omit<Event, 'type' | 'data'> : never;

/** An event as a test reads it: of any type, with whatever data was recorded. */
export type SeenEvent = Untyped<RecordedEvent> & { type: RecordedEvent['type']; data?: Record<string, unknown> };

export const seenEvents = async (db: Executor, subjectId: string): Promise<SeenEvent[]> =>
  (await listEvents(db, subjectId)) as SeenEvent[];

type MadeUp = Untyped<NewEvent> & { type: NewEvent['type']; data?: object };

/** An event that a test makes up, with as much of its data as the test needs. */
export const madeUp = (event: MadeUp): NewEvent => event as NewEvent;
