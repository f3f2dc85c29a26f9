import type { OperationTable } from '../../tenancy/access/index.ts';
import { eraseAddress } from './erase-address.ts';

export const erasures = {
  eraseAddress: (ctx, { body }) => eraseAddress(ctx, body),
} satisfies OperationTable;
