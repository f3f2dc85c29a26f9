const UUID_PARTS = /^msg_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The id an event has on the wire, the same at every endpoint: it is the `svix-id` of each delivery. */
export const publicEventId = (eventId: string): string => `msg_${eventId.replaceAll('-', '')}`;

/** The event behind a `msg_…` id; undefined when it is none. */
export function eventIdOf(publicId: string): string | undefined {
  return UUID_PARTS.exec(publicId)?.slice(1).join('-');
}
