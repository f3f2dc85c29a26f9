import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readShippedProviders } from './provider-settings.ts';

const FILE = readFileSync(new URL('../../../config/providers.toml', import.meta.url), 'utf8');

it('the shipped providers have their mail servers in lower case and without a final dot', () => {
  const { members } = readShippedProviders(FILE.replace('".google.com"', '".Google.com."'));
  expect(members.get('google')?.mx).toEqual(['.google.com', '.googlemail.com']);
});

it.each([
  ['defaults.message_burst must be an integer from 1 to 10000', 'message_burst = 1', 'message_burst = 0'],
  ['defaults.message_burst is missing', 'message_burst = 1\n', ''],
  ['defaults.speed is no limit', 'message_burst = 1', 'message_burst = 1\nspeed = 1'],
  ['defaults.mx is no limit', 'message_burst = 1', 'message_burst = 1\nmx = []'],
  [
    'defaults.idle_seconds repeats the setting delivery.idle_seconds; remove it',
    'message_burst = 1',
    'message_burst = 1\nidle_seconds = 5',
  ],
  [
    'defaults.connections_per_site repeats the setting delivery.max_connections_per_destination; remove it',
    'message_burst = 1',
    'message_burst = 1\nconnections_per_site = 20',
  ],
])('a fault in the limits of everyone else is refused: %s', (says, from, to) => {
  expect(() => readShippedProviders(FILE.replace(from, to))).toThrow(`config/providers.toml: ${says}`);
});
