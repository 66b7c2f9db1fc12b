"""Discrete Fourier transforms: the names, arguments and results of `numpy.fft`; of cosines and sines, `scipy.fft`'s.

`numpy.fft.fft(A)` and the like work on global arrays as well. All functions are collective. A dimension that each
process holds whole is transformed where it lies, by SciPy and with all threads of the process; others are made whole by
assignments between layouts, as many at once as can be (slabs, or pencils). One long dimension alone is transformed in
four steps; for cosines and sines some process has to hold it. Results are dealt out as the operand is, unless
`transposed_out` leaves them as the last step has them.
"""

from __future__ import annotations

from pgaspy.fft.cosines import dct as dct
from pgaspy.fft.cosines import dctn as dctn
from pgaspy.fft.cosines import dst as dst
from pgaspy.fft.cosines import dstn as dstn
from pgaspy.fft.cosines import idct as idct
from pgaspy.fft.cosines import idctn as idctn
from pgaspy.fft.cosines import idst as idst
from pgaspy.fft.cosines import idstn as idstn
from pgaspy.fft.frequencies import fftfreq as fftfreq
from pgaspy.fft.frequencies import fftshift as fftshift
from pgaspy.fft.frequencies import ifftshift as ifftshift
from pgaspy.fft.frequencies import rfftfreq as rfftfreq
from pgaspy.fft.transforms import fft as fft
from pgaspy.fft.transforms import fft2 as fft2
from pgaspy.fft.transforms import fftn as fftn
from pgaspy.fft.transforms import hfft as hfft
from pgaspy.fft.transforms import ifft as ifft
from pgaspy.fft.transforms import ifft2 as ifft2
from pgaspy.fft.transforms import ifftn as ifftn
from pgaspy.fft.transforms import ihfft as ihfft
from pgaspy.fft.transforms import irfft as irfft
from pgaspy.fft.transforms import irfft2 as irfft2
from pgaspy.fft.transforms import irfftn as irfftn
from pgaspy.fft.transforms import rfft as rfft
from pgaspy.fft.transforms import rfft2 as rfft2
from pgaspy.fft.transforms import rfftn as rfftn
