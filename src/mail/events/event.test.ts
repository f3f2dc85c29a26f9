import { describe, expect, it } from 'vitest';
import { parseEventId, publicEventId } from './event.ts';

const UUID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e04';
const PUBLIC = 'msg_019a9c1e7d527c3a9a540b8f4c1f2e04';

describe('the id of an event on the wire', () => {
  it('is its id without hyphens, and can be converted back', () => {
    expect(publicEventId(UUID)).toBe(PUBLIC);
    expect(parseEventId(PUBLIC)).toBe(UUID);
  });

  it.each(['', 'msg_', UUID, `msg_${UUID}`, PUBLIC.slice(0, -1), `${PUBLIC}0`, PUBLIC.toUpperCase(), `${PUBLIC}\n`])(
    '%j is not accepted',
    (text) => expect(parseEventId(text)).toBeUndefined(),
  );
});
