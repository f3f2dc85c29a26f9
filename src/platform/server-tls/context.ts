import { createSecureContext, type SecureContext } from 'node:tls';
import type { TlsKeys } from './self-signed-file.ts';

/** What one name is shown. */
export type ShownContext = SecureContext;

/** Throws where certificate and key are no use. */
export const makeContext = ({ cert, key }: TlsKeys): ShownContext => createSecureContext({ cert, key });
