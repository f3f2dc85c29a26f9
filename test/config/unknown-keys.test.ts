import { describe, expect, it } from 'vitest';
import { findFaults, loadToml } from './config-files.ts';

const unknownKeys = [
  { why: 'swapped letters', toml: 'http.prot = 1', fault: 'http.prot is not a setting; did you mean http.port?' },
  {
    why: 'camel case',
    toml: 'http.bodyLimitBytes = 1',
    fault: 'http.bodyLimitBytes is not a setting; did you mean http.body_limit_bytes?',
  },
  {
    why: 'the right name in the wrong section',
    toml: 'queue.poll_ms = 1',
    fault: 'queue.poll_ms is not a setting; did you mean delivery.poll_ms?',
  },
  { why: 'no section', toml: 'capture = true', fault: 'capture is not a setting; did you mean delivery.capture?' },
  { why: 'a mistyped section', toml: '[htpp]\nport = 1', fault: 'htpp.port is not a setting; did you mean http.port?' },
  { why: 'an empty mistyped section', toml: '[htpp]', fault: 'htpp is not a setting; did you mean http?' },
  {
    why: 'a section below a setting',
    toml: '[http.port]\nnumber = 1',
    fault: 'http.port.number is not a setting; did you mean http.port?',
  },
  {
    why: 'nothing is near',
    toml: 'kubernetes.flavour = 1',
    fault: 'kubernetes.flavour is not a setting; config/default.toml lists them all',
  },
  {
    why: 'quotes make one name of two',
    toml: '"http.port" = 1',
    fault: '"http.port" is not a setting; did you mean http.port?',
  },
  {
    why: 'a field of a region',
    toml: 'regions.eu-west-1.smarthst = ""',
    fault: 'regions.eu-west-1.smarthst is not a setting; did you mean regions.eu-west-1.smarthost?',
  },
  {
    why: 'a field of a region of your own',
    toml: 'regions.home.helo = ""',
    fault: 'regions.home.helo is not a setting; did you mean regions.home.helo_name?',
  },
  {
    why: 'a name the prototype has',
    toml: 'http.constructor = 1',
    fault: 'http.constructor is not a setting; config/default.toml lists them all',
  },
  {
    why: 'the prototype itself',
    toml: '__proto__.port = 1',
    fault: '__proto__.port is not a setting; did you mean http.port?',
  },
];

describe('an unknown key stops the start with the nearest known key', () => {
  it.each(unknownKeys)('$why: $toml', ({ toml, fault }) => {
    expect(findFaults(() => loadToml(toml))).toEqual([`rasket.toml: ${fault}`]);
  });
});
