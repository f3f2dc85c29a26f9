import { readHttpsUrl } from '../../protocol/https-url/index.ts';
import { flag, integer, list, oneOf, secret, textOrEmpty } from './kind.ts';
import * as network from './network-kinds.ts';

const ports = list(integer({ min: 0, max: 65_535, unit: 'TCP port; 0 takes any free one' }), { min: 0, max: 20 });
const filePathOrEmpty = textOrEmpty('the path of a file', (value) => !value.includes('\0'));
const hmacKeyOrEmpty = secret(
  textOrEmpty('an HMAC key of 16 to 512 bytes in base64url', (value) => /^[A-Za-z0-9_-]{22,683}={0,2}$/.test(value)),
  (value) => (value === '' ? '' : '***'),
);
const directory = textOrEmpty(
  'an https URL, such as https://acme-v02.api.letsencrypt.org/directory',
  (value) => typeof readHttpsUrl(value) !== 'string',
);

/** Which ports speak TLS for the API, and where the certificate of all ports comes from. */
export const tlsSections = {
  https: { host: network.listenAddressOrEmpty, ports, redirect_ports: ports },
  tls: { certificate_file: filePathOrEmpty, key_file: filePathOrEmpty },
  acme: {
    directory,
    agree_to_terms: flag(),
    contact: network.bareAddressOrEmpty('admin@example.com'),
    eab_key_id: textOrEmpty('the key id of an external account, 1 to 500 characters without blanks', (value) =>
      /^[\x21-\x7E]{1,500}$/.test(value),
    ),
    eab_hmac_key: hmacKeyOrEmpty,
    names: list(network.hostNameOrWildcard, { min: 0, max: 99 }),
    tracking_hosts: flag(),
    challenge: oneOf(['http-01', 'tls-alpn-01', 'dns-01']),
    dns_provider: textOrEmpty('the name of an entry of [dns_providers]', (value) => /^[a-z0-9-]{1,100}$/.test(value)),
    dns_seconds: integer({ min: 1, max: 3600, unit: 'seconds' }),
    orders_per_hour: integer({ min: 1, max: 10_000, unit: 'orders an hour' }),
    answer_seconds: integer({ min: 1, max: 300, unit: 'seconds' }),
    allow_private: list(network.cidr, { min: 0, max: 100 }),
  },
};
