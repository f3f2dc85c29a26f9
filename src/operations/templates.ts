import {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplate,
  listTemplates,
  publishTemplate,
  updateTemplate,
} from '../features/templates/templates/index.ts';
import { pageOf, type Operations } from './operation.ts';
import { deleteImage, getImage, listImages } from '../features/templates/images/index.ts';

export const templates = {
  createTemplate: (ctx, { body }) => createTemplate(ctx, body),
  listTemplates: (ctx, { query }) => listTemplates(ctx, pageOf(query)),
  getTemplate: (ctx, { path }) => getTemplate(ctx, path.template),
  updateTemplate: (ctx, { path, body }) => updateTemplate(ctx, path.template, body),
  deleteTemplate: (ctx, { path }) => deleteTemplate(ctx, path.template),
  publishTemplate: (ctx, { path }) => publishTemplate(ctx, path.template),
  duplicateTemplate: (ctx, { path }) => duplicateTemplate(ctx, path.template),
} satisfies Partial<Operations>;

export const images = {
  listImages: (ctx, { query }) => listImages(ctx, pageOf(query)),
  getImage: (ctx, { path }) => getImage(ctx, path.image_id),
  deleteImage: (ctx, { path, query = {} }) => deleteImage(ctx, path.image_id, query),
} satisfies Partial<Operations>;
