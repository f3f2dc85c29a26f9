import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { failuresOf, findImport, listImportRows, type ImportRow, type ImportStatus } from './contact-imports.store.ts';
import type { ImportOptions } from './queue-import.ts';

export async function getContactImport(ctx: Ctx, id: string) {
  return { object: 'contact_import' as const, ...present(await importNamed(ctx, id)) };
}

export async function listContactImports(
  { store, teamId }: Ctx,
  { status }: { status?: ImportStatus | undefined },
  page: Page,
) {
  const { rows, hasMore } = await listImportRows(store.db, teamId, status, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

export async function getContactImportFailures(ctx: Ctx, id: string) {
  const row = await importNamed(ctx, id);
  const { encoding, delimiter } = JSON.parse(row.options) as ImportOptions;
  const data = await failuresOf(ctx.store.db, id);
  return { object: 'contact_import_failures' as const, import_id: id, file: { encoding, delimiter }, data };
}

async function importNamed({ store, teamId }: Ctx, id: string): Promise<ImportRow> {
  const row = await findImport(store.db, teamId, id);
  if (!row) throw notFound('Import');
  return row;
}

function present(row: ImportRow) {
  const { id, status, created_at, completed_at, total, created, updated, skipped, failed } = row;
  const { on_conflict, startAutomations = false, ignored = [] } = JSON.parse(row.options) as ImportOptions;
  return {
    id,
    status,
    created_at: isoTime(created_at),
    completed_at: completed_at === null ? null : isoTime(completed_at),
    counts: { total, created, updated, skipped, failed },
    on_conflict,
    start_automations: startAutomations,
    ignored_columns: [...ignored],
  };
}
