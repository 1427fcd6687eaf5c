"""files.py - the files that specs of the rows name: name -> bytes. run_messages.py writes them where say looks."""
import struct


def npy(header, data=b'', version=(1, 0), magic=b'\x93NUMPY'):
    if not isinstance(header, bytes):
        header = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n" % header).encode()
    length = struct.pack('<H' if version[0] == 1 else '<I', len(header))
    return magic + bytes(version) + length + header + data


def safetensors(header, data=b''):
    return struct.pack('<Q', len(header)) + header.encode() + data


TWO = struct.pack('<2f', 1.5, -2)
FILES = {
    'a.npy': npy(('<f4', False, '(2,)'), TWO),
    'magic.npy': b'PK\x03\x04 and more',
    'short.npy': b'\x93NUMPY\x01\x00\xff\x00{',
    'version.npy': npy(('<f4', False, '(2,)'), TWO, (9, 0)),
    'header.npy': npy(b"['descr']\n"),
    'twice.npy': npy(b"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
    'shape.npy': npy(('<f4', False, '(2, -1)'), TWO),
    'rank.npy': npy(('<f4', False, '(' + '1, ' * 17 + ')'), TWO),
    'huge.npy': npy(('<f4', False, '(16777216, 16777217, 2)'), TWO),
    'long.npy': npy(('<f4', False, '(99999999999999999999,)'), TWO),
    'cut.npy': npy(('<f4', False, '(3,)'), TWO),
    'rest.npy': npy(('<f4', False, '(1,)'), TWO),
    'big.npy': npy(('>f4', False, '(2,)'), TWO),
    'double.npy': npy(('<f8', False, '(1,)'), TWO),
    'text.npy': npy(('<U1\\x07', False, '(2,)'), TWO),
    'fortran.npy': npy(('<f4', True, '(2, 1)'), TWO),
    'bools.npy': npy(('|b1', False, '(2,)'), b'\x01\x02'),
    'v2.npy': npy(('<f4', False, '(2,)'), TWO, (2, 0)),
    'a.safetensors': safetensors('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', TWO),
    'some.safetensors': safetensors(
        '{"__metadata__":{"format":"pt"},"w.0":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        '"w.1":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"list":[1],'
        '"rank":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]},'
        '"negative":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]},'
        '"huge":{"dtype":"F32","shape":[281474976710656,2],"data_offsets":[0,8]},'
        '"outside":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},'
        '"crossed":{"dtype":"F32","shape":[2],"data_offsets":[8,0]},'
        '"none":{"dtype":"F32","shape":[2]}}', TWO),
    'cut.safetensors': b'\xff\xff\x00\x00\x00\x00\x00\x00{',
    'tiny.safetensors': b'{}',
    'json.safetensors': safetensors('{"w":'),
    'list.safetensors': safetensors('[1, 2]'),
}
