import { listCertificates, renewCertificates } from '../features/operations/certificates/index.ts';
import type { Operations } from './operation.ts';

export const certificates = {
  listCertificates: ({ store }) => listCertificates(store),
  renewCertificates: ({ store }, { body }) => renewCertificates(store, body),
} satisfies Partial<Operations>;
