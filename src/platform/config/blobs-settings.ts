import { flag, integer, oneOf, secret, text, textOrEmpty } from './kind.ts';
import * as network from './network-kinds.ts';

const MASKED = (value: string): string => (value === '' ? '' : '***');

/** Where content stands that is too large for a row. */
export const blobsSection = {
  store: oneOf(['files', 's3']),
  endpoint: network.originOrEmpty,
  region: text('the name of a region, such as eu-central-1', (value) => /^[a-z0-9-]{1,64}$/i.test(value)),
  bucket: textOrEmpty('the name of a bucket, 3 to 63 lower-case letters, digits, dots and hyphens', (value) =>
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value),
  ),
  prefix: textOrEmpty(
    'segments of letters, digits, dots, hyphens and underscores, with slashes between them',
    (value) => /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(value) && value.length <= 200,
  ),
  path_style: flag(),
  access_key: textOrEmpty('an access key of 1 to 200 characters without spaces and slashes', (value) =>
    /^[\x21-\x2e\x30-\x7e]{1,200}$/.test(value),
  ),
  secret_key: secret(
    textOrEmpty('a secret key of 1 to 500 characters without spaces', (value) => /^[\x21-\x7e]{1,500}$/.test(value)),
    MASKED,
  ),
  secret_key_file: textOrEmpty('the path of a file', (value) => !value.includes('\0')),
  timeout_seconds: integer({ min: 1, max: 300, unit: 'seconds' }),
  give_up_seconds: integer({ min: 1, max: 600, unit: 'seconds' }),
  requests_max: integer({ min: 1, max: 1000, unit: 'requests' }),
  cache_bytes: integer({ min: 0, max: 1_099_511_627_776, unit: 'bytes' }),
};
