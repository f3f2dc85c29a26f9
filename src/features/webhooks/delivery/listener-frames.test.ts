import { webhookKey } from '../../../protocol/webhook-signature.ts';
import { expect, test } from 'vitest';
import { closedFrame, eventFrame, listeningFrame, NO_EVENT, readPosition, writePosition } from './listener-frames.ts';

const position = {
  listenerId: 'lsn_019a9c1e7d527c3a9a540b8f4c1f2e05',
  batch: 12,
  eventId: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e04',
};
const written = 'lsn_019a9c1e7d527c3a9a540b8f4c1f2e05.12.019a9c1e7d527c3a9a540b8f4c1f2e04';

test('a written position is read back unchanged', () => {
  expect(writePosition(position)).toBe(written);
  expect(readPosition(written)).toEqual(position);
  expect(readPosition(writePosition({ ...position, batch: 0, eventId: NO_EVENT }))?.eventId).toBe(NO_EVENT);
});

test.each(['', 'lsn_1.1.1', `${written}0`, ` ${written}`, written.replace('.12.', '.-1.'), written.toUpperCase()])(
  '%j is not read as a position',
  (text) => expect(readPosition(text)).toBeUndefined(),
);

test('a payload of many lines is one line of the event and is read back unchanged', () => {
  const payload = '{"a":"line\\nline","b":"\u2028 – 🎉"}';
  const key = webhookKey('whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3');
  const frame = eventFrame(position, { id: 'msg_1', type: 'email.sent', payload }, key, 1_700_000_000);
  expect(frame.split('\n')).toEqual([`id: ${written}`, 'event: event', expect.stringMatching(/^data: /), '', '']);
  const data = JSON.parse(frame.split('\n')[2]?.slice('data: '.length) ?? '') as Record<string, unknown>;
  expect(data).toMatchObject({ object: 'webhook_event', id: 'msg_1', type: 'email.sent', payload });
  expect(data.headers).toMatchObject({ 'svix-id': 'msg_1', 'svix-timestamp': '1700000000' });
});

test('the first event says how to resume, and the last one why the stream ended', () => {
  const first = listeningFrame({ position, secret: null, events: ['email.sent'], resumed: true });
  expect(first.split('\n').slice(0, 3)).toEqual(['retry: 2000', `id: ${written}`, 'event: listening']);
  expect(closedFrame('key_revoked')).toMatch(/^event: closed\ndata: \{"reason":"key_revoked","message":"The API key /);
});
