import {
  getContactImport,
  getContactImportFailures,
  listContactImports,
} from '../features/audience/contact-imports/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const contactImports = {
  listContactImports: (ctx, { query = {} }) => listContactImports(ctx, query, pageOf(query)),
  getContactImport: (ctx, { path }) => getContactImport(ctx, path.import_id),
  getContactImportFailures: (ctx, { path }) => getContactImportFailures(ctx, path.import_id),
} satisfies Partial<Operations>;
