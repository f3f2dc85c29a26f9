import type { AnswerOf } from '../client/index.ts';
import { bytesInWords } from './bytes-in-words.ts';
import {
  declareAction,
  declareDetail,
  declareList,
  nameIn,
  wide,
  withRemaining,
  type Action,
  type Field,
  type ItemOf,
} from './family.ts';

type Image = ItemOf<'listImages'> | AnswerOf<'getImage'>;

const id: Field<Image> = { name: 'id', label: 'Id', kind: 'id' };
const url: Field<Image> = { name: 'url', label: 'Address', kind: 'long' };
const type: Field<Image> = { name: 'content_type', label: 'Type' };
const size: Field<Image> = { name: 'bytes', label: 'Size', kind: 'number', words: ({ bytes }) => bytesInWords(bytes) };
const width: Field<Image> = { name: 'width', label: 'Width', kind: 'number' };
const height: Field<Image> = { name: 'height', label: 'Height', kind: 'number' };
const created: Field<Image> = { name: 'created_at', label: 'Created', kind: 'time' };

const upload: Action = {
  operation: 'createImage',
  verb: 'upload',
  key: 'c',
  summary: 'upload images for emails',
  description:
    'Upload each file, a PNG, JPEG, GIF or WebP image of at most 5 MB (or the limit of the server), and print the address to use in HTML. An image that the team has already uploaded keeps its address.',
  example: 'images upload logo.png header.jpg',
  path: {},
  flags: {
    file: { value: '<file>', says: 'an image file', isWord: true, isFile: true, isVariadic: true, isRequired: true },
  },
};

export const images = withRemaining({
  command: 'images',
  summary: 'upload and manage images for emails',
  noun: 'an image',
  list: declareList('listImages', { columns: [id, type, size, width, height, created, ...wide(url)] }),
  get: declareDetail('getImage', { fields: [id, url, type, size, width, height, created] }),
  actions: [
    upload,
    declareAction('deleteImage', {
      destroys: { name: nameIn('getImage', ({ url: address }) => address.split('/').at(-1) ?? address) },
    }),
  ],
});
