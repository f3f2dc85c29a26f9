import { deleteImage, getImage, listImages } from './images/images.ts';
import {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplate,
  listTemplates,
  publishTemplate,
  updateTemplate,
} from './templates/templates.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

export const templates = {
  createTemplate: (ctx, { body }) => createTemplate(ctx, body),
  listTemplates: (ctx, { query }) => listTemplates(ctx, readPage(query)),
  getTemplate: (ctx, { path }) => getTemplate(ctx, path.template),
  updateTemplate: (ctx, { path, body }) => updateTemplate(ctx, path.template, body),
  deleteTemplate: (ctx, { path }) => deleteTemplate(ctx, path.template),
  publishTemplate: (ctx, { path, body }) => publishTemplate(ctx, path.template, body),
  duplicateTemplate: (ctx, { path }) => duplicateTemplate(ctx, path.template),
} satisfies OperationTable<World>;

export const images = {
  listImages: (ctx, { query }) => listImages(ctx, readPage(query)),
  getImage: (ctx, { path }) => getImage(ctx, path.image_id),
  deleteImage: (ctx, { path, query = {} }) => deleteImage(ctx, path.image_id, query),
} satisfies OperationTable<World>;
