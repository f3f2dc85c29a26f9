import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Secrets, SealedColumn } from '../../../platform/secrets/index.ts';

const [OF_CERTIFICATE, OF_ACCOUNT] = ['certificate key', 'acme account key'];

export const SEALED_CERTIFICATE_KEYS: readonly SealedColumn[] = [
  { table: 'certificates', column: 'private_key', purpose: OF_CERTIFICATE },
  { table: 'certificates', column: 'order_key', purpose: OF_CERTIFICATE },
  { table: 'acme_accounts', column: 'private_key', purpose: OF_ACCOUNT },
];

type Sealing = { secrets: Pick<Secrets, 'seal' | 'open'> };

const makeKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

export const newCertificateKey = ({ secrets }: Sealing, id: string): string =>
  secrets.seal(pemOf(makeKey()), OF_CERTIFICATE, id);

export const newAccountKey = ({ secrets }: Sealing, id: string): string =>
  secrets.seal(pemOf(makeKey()), OF_ACCOUNT, id);

/** In PEM. */
export const openCertificateKey = ({ secrets }: Sealing, sealed: string, id: string): string =>
  secrets.open(sealed, OF_CERTIFICATE, id);

export const openAccountKey = ({ secrets }: Sealing, sealed: string, id: string): KeyObject =>
  createPrivateKey(secrets.open(sealed, OF_ACCOUNT, id));
